import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { CommandContext } from "../command.ts"
import { runWithProcess } from "../main.ts"
import { nearest } from "../../runtime/nearest.ts"
import { isEnvironmentCommand, environmentCommandNames, runEnvironmentCommand } from "./environment-commands.ts"

/** Runs an environment's own file as a command, with the process's streams and signals. */
export function main(environmentClass: AnyEnvironmentClass, argv: readonly string[]): Promise<number> {
  return runWithProcess((context) => runOwnCommand(environmentClass, argv, context))
}

/** The command line of an environment's own file: `serve`, `process` or `evaluate`, then flags. */
export async function runOwnCommand(
  environmentClass: AnyEnvironmentClass,
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  const [command, ...rest] = argv
  if (command !== undefined && isEnvironmentCommand(command)) {
    return runEnvironmentCommand(command, environmentClass, rest, context)
  }
  const usage = `usage: ${environmentCommandNames.join("|")} [flags]; each lists its flags with --help`
  if (command === "--help" || command === "-h") {
    context.stdout(`${usage}\n`)
    return 0
  }
  const what = command === undefined ? "no command given" : `unknown command ${JSON.stringify(command)}`
  const near = command === undefined ? undefined : nearest(command, environmentCommandNames)
  throw new AtroposError("bad-option", `${what}${near === undefined ? "" : `, did you mean ${near}?`}\n${usage}`)
}
