import type { Logger } from "../../runtime/logger.ts"
import { describeFailure } from "../rollouts/rollout-failure.ts"
import type { RunListener } from "./run-listener.ts"

/** Says what happens in a run, one line a thing; what comes with every item is for the debug level. */
export function createLogListener(logger: Logger): RunListener {
  let warnings = 0
  /** The first of many alike is a warning; the rest would drown everything else. */
  const rare = (message: string, facts?: Record<string, unknown>): void => {
    warnings += 1
    if (warnings <= 10 || warnings % 100 === 0) logger.warn(message, facts)
    else logger.debug(message, facts)
  }
  return {
    registered: ({ name, startingStep, batchSize, maxTokenLen }) =>
      logger.info(`registered as ${name}`, { step: startingStep, batchSize, maxTokenLen }),
    rolloutEnd: (rollout) => {
      if (rollout.status === "failed") rare(`a rollout failed at ${describeFailure(rollout.failure)}`)
    },
    itemEnd: ({ outcome }) => {
      if (outcome === "returned") logger.debug("an item goes back to be done again")
    },
    groupDrop: ({ reason, detail }) => {
      if (reason === "equal-scores") logger.debug(`dropped a group: ${detail}`, { reason })
      else rare(`dropped a group: ${detail}`, { reason })
    },
    evaluationStart: (step) => logger.info("evaluation begins", { step }),
    evaluationEnd: ({ step, result, seconds }) =>
      logger.info("evaluation done", { step, seconds: Number(seconds.toFixed(1)), ...result?.metrics }),
    evaluationFail: ({ step, cause }) =>
      logger.error(`the evaluation failed: ${cause instanceof Error ? cause.message : String(cause)}`, { step }),
  }
}
