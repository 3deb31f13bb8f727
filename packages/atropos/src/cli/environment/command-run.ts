import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import type { CommandContext } from "../command.ts"
import { openRun, type OpenRun } from "./open-run.ts"
import { createProgress, type Progress } from "./progress.ts"
import type { Configuration } from "./resolve-configuration.ts"
import { withClosing } from "./with-closing.ts"

/** What serve, process and evaluate work with. */
export interface CommandRun {
  run: OpenRun
  configuration: Configuration
  /** What is written to its streams keeps out of the progress line's way. */
  context: CommandContext
  progress: Progress
  /** Closes something when the command ends, the last first. */
  defer: (close: () => unknown) => void
}

/** Opens an environment as it is configured, does the command's work, and closes everything again. */
export function withCommandRun(
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
  work: (command: CommandRun) => Promise<number>,
): Promise<number> {
  return withClosing(async (defer) => {
    const progress = createProgress(context, !configuration.run.quiet && !configuration.run.json)
    const shown: CommandContext = {
      ...context,
      stdout: (text) => progress.around(() => context.stdout(text)),
      stderr: (text) => progress.around(() => context.stderr(text)),
    }
    const run = await openRun(environmentClass, configuration, shown)
    defer(() => run.close())
    run.policy.server.look()
    defer(() => progress.end())
    return work({ run, configuration, context: shown, progress, defer })
  })
}
