import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { CommandContext, RawCommand } from "../command.ts"
import { formatHelp, listFlags } from "./help.ts"
import { loadEnvironmentClass } from "./load-environment-class.ts"
import { readConfiguration } from "./read-arguments.ts"
import { type NamespacedFlag, readNamespacedFlags } from "./read-namespaced-flags.ts"
import { environmentSummaries } from "./summaries.ts"

// Loaded on demand: `--help` of one must not pay for the others.
const runners = {
  serve: async () => (await import("./serve-command.ts")).runServe,
  process: async () => (await import("./process-command.ts")).runProcess,
  evaluate: async () => (await import("./evaluate-command.ts")).runEvaluate,
}

export type EnvironmentCommandName = keyof typeof runners

export const environmentCommandNames = Object.keys(runners)

export function isEnvironmentCommand(name: string): name is EnvironmentCommandName {
  return name in runners
}

/** Runs one of an environment's commands on the arguments that follow its name. */
export async function runEnvironmentCommand(
  command: EnvironmentCommandName,
  environmentClass: AnyEnvironmentClass,
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { flags, positionals } = readNamespacedFlags(argv)
  const { about } = environmentClass
  if (asksForHelp(flags)) {
    context.stdout(formatHelp(`${command} [flags]`, environmentSummaries[command], listFlags(about)))
    return 0
  }
  if (positionals.length > 0) {
    throw new AtroposError("bad-option", `unrecognized arguments: ${positionals.join(" ")}`)
  }
  const configuration = await readConfiguration({
    about,
    commandDefaults: commandDefaults(command, about.name),
    flags,
    workingDirectory: context.workingDirectory,
  })
  const [{ withCommandRun }, work] = await Promise.all([import("./command-run.ts"), runners[command]()])
  return withCommandRun(environmentClass, configuration, context, work)
}

/** `atropos serve <module or name> …`. */
export function environmentCommand(name: EnvironmentCommandName): RawCommand {
  return {
    async runArguments(argv, context) {
      const [module, ...rest] = argv
      if (module === "--help" || module === "-h") {
        const usage = `atropos ${name} <module or name> [flags]`
        context.stdout(formatHelp(usage, environmentSummaries[name], listFlags(undefined)))
        return 0
      }
      if (module === undefined || module.startsWith("-")) {
        throw new AtroposError("bad-option", `say which environment: atropos ${name} <module or name> [flags]`)
      }
      return runEnvironmentCommand(name, await loadEnvironmentClass(module, context.workingDirectory), rest, context)
    },
  }
}

/** What a command changes by itself, over the environment's defaults. */
export function commandDefaults(command: EnvironmentCommandName, name: string): Record<string, unknown> {
  switch (command) {
    case "serve":
      return {}
    case "process":
      return {
        useWandb: true,
        ensureScoresAreNotSame: false,
        includeMessages: true,
        dataPathToSaveGroups: `data/${name}.jsonl`,
      }
    case "evaluate":
      return { useWandb: true }
  }
}

function asksForHelp(flags: readonly NamespacedFlag[]): boolean {
  return flags.some(({ namespace, key }) => namespace === "" && key === "help")
}
