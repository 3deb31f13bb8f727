import { mkdir, writeFile } from "node:fs/promises"
import { join, relative, resolve } from "node:path"

import { stringify } from "yaml"

import { withSnakeKeys } from "../../environment/config/keys.ts"
import { runEvaluation } from "../../environment/evaluate/run-evaluation.ts"
import {
  type EvaluationReport,
  evaluationTable,
  metricsFile,
  writeEvaluation,
} from "../../environment/evaluate/write-evaluation.ts"
import { inOwnCode } from "../../environment/own-code.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { counted } from "../../runtime/counted.ts"
import type { CommandRun } from "./command-run.ts"
import type { Configuration } from "./resolve-configuration.ts"

/** `atropos evaluate`: one evaluation of the policy, printed and written to files. */
export async function runEvaluate({ run, configuration, context, progress, defer }: CommandRun): Promise<number> {
  const { config, environment, logger, policy, name } = run
  defer(() => environment.cleanup())
  let rolloutsDone = 0
  try {
    const directory = await prepareDirectory(configuration, context.workingDirectory)
    // Once it is clear that there will be results.
    let printsOnly = directory === undefined
    const sayPrintsOnly = (): void => {
      if (printsOnly) logger.warn("no --env.data_dir_to_save_evals: the results are printed only")
      printsOnly = false
    }
    const began = performance.now()
    await inOwnCode("setup", () => environment.setup())
    const result = await runEvaluation({
      ...run,
      signal: context.signal,
      step: 0,
      concurrency: policy.evaluationConcurrency,
      onProgress: (done, started) => {
        if (context.signal.aborted) return
        rolloutsDone = done
        sayPrintsOnly()
        progress.update(done, started, "rollouts")
      },
    })
    progress.end()
    if (result === undefined) {
      throw new AtroposError(
        "bad-option",
        `${name} has no evaluation; define evaluate (or evaluation in the short form)`,
      )
    }
    sayPrintsOnly()
    const report: EvaluationReport = {
      name,
      modelName: configuration.servers[0]?.modelName ?? "default",
      maxNewTokens: config.maxTokenLength,
      seconds: (performance.now() - began) / 1000,
      result,
    }
    if (directory !== undefined) await writeEvaluation(directory, report)
    if (configuration.run.json) context.stdout(`${JSON.stringify(metricsFile(report))}\n`)
    else context.stdout(evaluationTable(report))
    if (directory !== undefined)
      logger.info(`wrote ${relative(context.workingDirectory, directory) || "."}/metrics.json`)
    return 0
  } catch (error) {
    if (!context.signal.aborted) throw error
    progress.end()
    logger.warn(`stopped: ${counted(rolloutsDone, "rollout")} done, nothing measured`)
    return 130
  }
}

/** Writes what is about to be run, so that it is there whatever happens. */
async function prepareDirectory(configuration: Configuration, workingDirectory: string): Promise<string | undefined> {
  const path = configuration.env.dataDirToSaveEvals
  if (path === null) return undefined
  const directory = resolve(workingDirectory, path)
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, "evaluate_config.yaml"), stringify(configurationFile(configuration)))
  return directory
}

/** The configuration as a YAML file that `--config` reads. */
export function configurationFile({ env, servers, serversAreList, run }: Configuration): Record<string, unknown> {
  const described = servers.map(withSnakeKeys)
  return {
    env: withSnakeKeys(env),
    openai: serversAreList ? described : described[0],
    slurm: run.slurm,
    testing: run.testing,
  }
}
