import type { EnvironmentClass } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { runWithProcess } from "../main.ts"
import { nearest } from "../flags.ts"
import { isEnvironmentCommand, environmentCommandNames, runEnvironmentCommand } from "./environment-commands.ts"

/** The command line of an environment's own file: `serve`, `process` or `evaluate`, then flags. */
export async function main(environmentClass: EnvironmentClass, argv: readonly string[]): Promise<number> {
  return runWithProcess(async (context) => {
    const [command, ...rest] = argv
    if (command !== undefined && isEnvironmentCommand(command)) {
      return runEnvironmentCommand(command, environmentClass, rest, context)
    }
    const usage = `usage: ${environmentCommandNames.join("|")} [flags]; each lists its flags with --help`
    if (command === "--help" || command === "-h") {
      context.stdout(`${usage}\n`)
      return 0
    }
    const near = command === undefined ? undefined : nearest(command, environmentCommandNames)
    throw new AtroposError(
      "bad-option",
      `${command === undefined ? "no command given" : `unknown command ${JSON.stringify(command)}`}${near === undefined ? "" : `, did you mean ${near}?`}\n${usage}`,
    )
  })
}
