import { z } from "zod"

import { explainListenFailure } from "../runtime/listen-failure.ts"
import { createLineLogger, logLevels } from "../runtime/logger.ts"
import type { Command } from "./command.ts"
import { loadPolicyModule } from "./trainer-parts.ts"
import { untilAborted } from "./until-aborted.ts"

const ownOptions = {
  logLevel: z.enum(logLevels).default("info").describe("least level of log lines"),
  json: z.boolean().default(false).describe("print events as JSON lines: the first names the address and the pid"),
}

/** Of the policy's settings, whose types are not seen here. */
const listenSettings = z.object({ host: z.string(), port: z.int() })

/** `atropos policy`: the embedded policy, answering as an inference server. */
export async function loadPolicyCommand(): Promise<Command> {
  const { policySettings, servePolicy } = await loadPolicyModule()
  const options = policySettings.extend(ownOptions)
  return {
    name: "policy",
    summary: "Serve the embedded policy, a tiny transformer that a trainer can update",
    options,
    async run(values, _positionals, context) {
      const own = z.object(ownOptions).parse(values)
      const logger = createLineLogger({ level: own.logLevel, json: own.json, write: context.stderr })
      const settings = policySettings.parse(values)
      const policy = await servePolicy(settings, logger).catch((error: unknown) => {
        const { host, port } = listenSettings.parse(settings)
        throw explainListenFailure(error, host, port)
      })
      context.stdout(
        own.json
          ? `${JSON.stringify({ event: "listening", address: policy.address, pid: process.pid })}\n`
          : `policy: ${policy.address}\n`,
      )
      await untilAborted(context.signal)
      await policy.close()
      return 0
    },
  }
}
