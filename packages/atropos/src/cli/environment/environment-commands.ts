import type { EnvironmentClass } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { CommandContext, RawCommand } from "../command.ts"
import { loadEnvironmentClass } from "./load-environment-class.ts"
import { readConfiguration } from "./read-arguments.ts"
import { readNamespacedFlags } from "./read-namespaced-flags.ts"
import { runServe } from "./serve-command.ts"

const runners = { serve: runServe }

export type EnvironmentCommandName = keyof typeof runners

export const environmentCommandNames = Object.keys(runners)

export function isEnvironmentCommand(name: string): name is EnvironmentCommandName {
  return name in runners
}

/** Runs one of an environment's commands on the arguments that follow its name. */
export async function runEnvironmentCommand(
  command: EnvironmentCommandName,
  environmentClass: EnvironmentClass,
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { flags, positionals } = readNamespacedFlags(argv)
  if (positionals.length > 0) {
    throw new AtroposError("bad-option", `unrecognized arguments: ${positionals.join(" ")}`)
  }
  const configuration = await readConfiguration({
    about: environmentClass.about,
    flags,
    workingDirectory: context.workingDirectory,
  })
  return runners[command](environmentClass, configuration, context)
}

/** `atropos serve <module or name> …`. */
export function environmentCommand(name: EnvironmentCommandName, summary: string): RawCommand {
  return {
    name,
    summary,
    async runArguments(argv, context) {
      const [module, ...rest] = argv
      if (module === undefined || module.startsWith("-")) {
        throw new AtroposError("bad-option", `say which environment: atropos ${name} <module or name> [flags]`)
      }
      return runEnvironmentCommand(name, await loadEnvironmentClass(module, context.workingDirectory), rest, context)
    },
  }
}
