import { checkEnvironment, type CheckResult } from "../../environment/check/check-environment.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { RawCommand } from "../command.ts"
import { loadEnvironmentClass } from "./load-environment-class.ts"
import { readConfiguration } from "./read-arguments.ts"
import { readNamespacedFlags } from "./read-namespaced-flags.ts"

const usage = "atropos check <module or name> [--env.* …] [--json]"
const signs: Readonly<Record<CheckResult["status"], string>> = { passed: "✓", failed: "✗", skipped: "–" }

/** `atropos check`: holds an environment to what training needs, offline. */
export const checkCommand: RawCommand = {
  async runArguments(argv, context) {
    const [module, ...rest] = argv
    if (module === "--help" || module === "-h") {
      context.stdout(
        `${usage}\n\nRuns the environment on scripted answers, without a server, a model or a network: the gold answer gets\nthe top score, an empty one the lowest, scoring is deterministic, groups vary, lengths fit, the configuration is\ndocumented. Exit code 1 when something does not hold.\n`,
      )
      return 0
    }
    if (module === undefined || module.startsWith("-")) {
      throw new AtroposError("bad-option", `say which environment: ${usage}`)
    }
    const environmentClass = await loadEnvironmentClass(module, context.workingDirectory)
    const { flags, positionals } = readNamespacedFlags(rest)
    if (positionals.length > 0) {
      throw new AtroposError("bad-option", `unrecognized arguments: ${positionals.join(" ")}`)
    }
    const { about } = environmentClass
    const { env, run } = await readConfiguration({ about, flags, workingDirectory: context.workingDirectory })
    const results = await checkEnvironment(environmentClass, { config: env })
    if (run.json) context.stdout(`${JSON.stringify({ environment: about.name, checks: results })}\n`)
    else {
      const lines = results.map(({ name, status, detail }) => `${signs[status]} ${name}: ${detail}\n`)
      context.stdout(`${about.name}\n${lines.join("")}`)
    }
    return results.some(({ status }) => status === "failed") ? 1 : 0
  },
}
