import { z } from "zod"

import { createLineLogger, logLevels } from "../runtime/logger.ts"
import type { Command } from "./command.ts"
import { loadPolicyModule } from "./trainer-parts.ts"
import { untilAborted } from "./until-aborted.ts"

const ownOptions = {
  logLevel: z.enum(logLevels).default("info").describe("least level of log lines"),
  json: z.boolean().default(false).describe("print events as JSON lines: the first names the address and the pid"),
}

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
      const policy = await servePolicy(policySettings.parse(values), logger)
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
