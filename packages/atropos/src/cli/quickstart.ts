import { z } from "zod"

import { AtroposError, isAtroposError } from "../runtime/errors.ts"
import { openRunFolder } from "../server/run-folder.ts"
import { type Command, defineCommand } from "./command.ts"
import { commandFile } from "./quickstart/command-file.ts"
import { createDisplay } from "./quickstart/display.ts"
import { runQuickstart } from "./quickstart/run-quickstart.ts"
import { stopWithShell } from "./quickstart/stop-with-shell.ts"

const options = z.object({
  seed: z.int().default(1).describe("decides the weights, the strings drawn and the samples"),
  minutes: z.number().positive().default(5).describe("budget of the loop"),
  target: z.number().min(0).max(1).default(0.9).describe("mean reward at which to stop"),
  heldOut: z.number().min(0).max(1).default(0.9).describe("share of held-out strings that must be right by then"),
  runDir: z.string().optional().describe("new folder for the run; runs/<date-time> unless given"),
  json: z.boolean().default(false).describe("print one JSON object a line: parts, step …, report"),
})

const targetReached = 0
const failed = 1
const budgetSpent = 3
const interrupted = 130

export const quickstart: Command<typeof options> = defineCommand({
  name: "quickstart",
  summary: "Run the whole loop on this machine until a tiny model has learned to reverse digits",
  options,
  async run({ seed, minutes, target, heldOut, runDir, json }, _positionals, context) {
    const signal = AbortSignal.any([context.signal, stopWithShell(context.environment)])
    const { path: runDirectory, isNew } = await openRunFolder({ dataDir: runDir, ...context, now: new Date() })
    if (!isNew)
      throw new AtroposError("bad-option", `--run-dir: ${runDirectory} holds a run already; name a new folder`)
    const display = createDisplay(context.stdout)
    const onStop = (): void => context.stderr("stopping the trainer, the environment, the policy and the server …\n")
    signal.addEventListener("abort", onStop, { once: true })
    if (!json) context.stdout("Starting trajectory server, policy, environment and trainer …\n")
    try {
      const report = await runQuickstart({
        seed,
        minutes,
        target,
        heldOutTarget: heldOut,
        bin: commandFile(),
        runDirectory,
        context,
        signal,
        onEvent: (event) => (json ? context.stdout(`${JSON.stringify(event)}\n`) : display(event)),
      })
      return report.reached ? targetReached : budgetSpent
    } catch (error) {
      if (signal.aborted) {
        context.stderr(`stopped; the run is in ${runDirectory}\n`)
        return interrupted
      }
      if (!isAtroposError(error, "part-failed")) throw error
      context.stderr(`atropos quickstart: ${error.message}\n`)
      return failed
    }
  },
})
