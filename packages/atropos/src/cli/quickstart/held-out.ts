import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { runEvaluation } from "../../environment/evaluate/run-evaluation.ts"
import type { CommandContext } from "../command.ts"
import { openRun } from "../environment/open-run.ts"
import { readConfiguration } from "../environment/read-arguments.ts"
import { readNamespacedFlags } from "../environment/read-namespaced-flags.ts"

type Context = Pick<CommandContext, "workingDirectory" | "environment" | "signal" | "stderr">

/** The share of held-out items that the policy, sampled greedily, answers exactly right just now. */
export async function measureHeldOut(
  environmentClass: AnyEnvironmentClass,
  settings: readonly string[],
  context: Context,
): Promise<number> {
  const { flags } = readNamespacedFlags([...settings, "--log-level", "error"])
  const { workingDirectory } = context
  const configuration = await readConfiguration({ about: environmentClass.about, flags, workingDirectory })
  const run = await openRun(environmentClass, configuration, context)
  try {
    await run.environment.setup()
    const { evaluationConcurrency: concurrency } = run.policy
    const result = await runEvaluation({ ...run, signal: context.signal, step: 0, concurrency })
    return result?.metrics["eval/percent_correct"] ?? 0
  } finally {
    await run.environment.cleanup()
    await run.close()
  }
}
