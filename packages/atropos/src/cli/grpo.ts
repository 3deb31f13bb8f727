import { z } from "zod"

import { createLineLogger, logLevels } from "../runtime/logger.ts"
import type { Command } from "./command.ts"
import { loadGrpoModule } from "./trainer-parts.ts"

const ownOptions = {
  logLevel: z.enum(logLevels).default("info").describe("least level of log lines"),
  json: z.boolean().default(false).describe("print each step as a JSON line"),
}

/** `atropos grpo`: the example trainer. */
export async function loadGrpoCommand(): Promise<Command> {
  const { grpoSettings, trainGrpo } = await loadGrpoModule()
  const options = grpoSettings.extend(ownOptions)
  return {
    name: "grpo",
    summary: "Train the embedded policy on scored groups",
    options,
    async run(values, _positionals, context) {
      const own = z.object(ownOptions).parse(values)
      const logger = createLineLogger({ level: own.logLevel, json: own.json, write: context.stderr })
      await trainGrpo(grpoSettings.parse(values), {
        logger,
        signal: context.signal,
        onStep: (step, metrics) =>
          context.stdout(own.json ? `${JSON.stringify({ event: "step", step, metrics })}\n` : stepLine(step, metrics)),
      })
      return 0
    },
  }
}

function stepLine(step: number, metrics: Readonly<Record<string, number>>): string {
  const shown = Object.entries(metrics).map(([name, value]) => `${name}=${Number(value.toPrecision(4))}`)
  return `step ${step}  ${shown.join("  ")}\n`
}
