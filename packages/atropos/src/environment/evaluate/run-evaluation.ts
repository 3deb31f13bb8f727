import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Environment } from "../environment.ts"
import type { Logger } from "../../runtime/logger.ts"
import { inOwnCode } from "../own-code.ts"
import type { Random } from "../random.ts"
import type { OpenSession } from "../rollouts/run-rollout.ts"
import { runRollout } from "../rollouts/run-rollout.ts"
import type { Rollout } from "../rollouts/rollout.ts"
import type { EvaluatedItem, Evaluation, EvaluationResult } from "./evaluation.ts"

export interface RunEvaluationOptions<Config extends EnvironmentConfig> {
  environment: Pick<Environment<never, Config>, "evaluate" | "helpers">
  config: Config
  random: Random
  signal: AbortSignal
  logger: Logger
  step: number
  openSession: OpenSession
  /** Rollouts at the same time. @default 64 */
  concurrency?: number
  /** Told how many rollouts have ended, of how many begun so far. */
  onProgress?: (done: number, started: number) => void
}

/** Runs an environment's evaluation once. */
export async function runEvaluation<Config extends EnvironmentConfig>(
  options: RunEvaluationOptions<Config>,
): Promise<EvaluationResult | undefined> {
  const { environment, config, random, signal, logger, step, concurrency = 64 } = options
  let runs = 0
  let done = 0
  let started = 0
  const run = async <Item, Value>(
    items: Iterable<Item> | AsyncIterable<Item>,
    rollout: (item: Item, rollout: Rollout<Config>) => Promise<Value>,
  ): Promise<EvaluatedItem<Item, Value>[]> => {
    const source = random.fork(`run-${runs++}`)
    const results: EvaluatedItem<Item, Value>[] = []
    const running = new Set<Promise<void>>()
    let index = 0
    for await (const item of items) {
      signal.throwIfAborted()
      const place = index++
      started += 1
      const work = runRollout<Value, Config>({
        item,
        index: 0,
        split: "eval",
        run: (context) => rollout(item, context),
        config,
        helpers: environment.helpers,
        random: source.fork(place),
        signal,
        logger,
        step,
        openSession: options.openSession,
      }).then((ended) => {
        results[place] =
          ended.status === "done"
            ? { status: "done", item, value: ended.value }
            : { status: "failed", item, failure: ended.failure }
        running.delete(work)
        options.onProgress?.(++done, started)
      })
      running.add(work)
      if (running.size >= concurrency) await Promise.race(running)
    }
    await Promise.all(running)
    signal.throwIfAborted()
    return results
  }
  const evaluation: Evaluation<Config> = { config, helpers: environment.helpers, random, signal, logger, step, run }
  return inOwnCode("evaluate", () => environment.evaluate(evaluation))
}
