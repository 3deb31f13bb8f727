import type { Logger } from "../../runtime/logger.ts"
import { describeFailure } from "../rollouts/rollout-failure.ts"
import type { RunListener } from "./run-listener.ts"

/** Groups of equal scores, and no other, after which somebody has to look at the scores. */
const tellingDrops = 20
const allEqual =
  `the first ${tellingDrops} groups had equal scores each, which teach nothing, so none was sent: is the task too hard or too easy ` +
  "for this policy? (--testing is right half the time where the environment names a gold answer.) " +
  "--env.ensure_scores_are_not_same false sends them all the same"

/** Says what happens in a run, one line a thing; what comes with every item is for the debug level. */
export function createLogListener(logger: Logger): RunListener {
  let warnings = 0
  let sent = 0
  let equal = 0
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
      if (rollout.status === "done") return
      const message = `a rollout failed at ${describeFailure(rollout.failure)}`
      // At the end of a run there are always some that nobody waits for.
      if (rollout.failure.boundary === "cancelled") logger.debug(message)
      else rare(message)
    },
    itemEnd: ({ outcome }) => {
      if (outcome === "returned") logger.debug("an item goes back to be done again")
    },
    groupSent: () => {
      sent += 1
    },
    groupDrop: ({ reason, detail }) => {
      if (reason !== "equal-scores") return rare(`dropped a group: ${detail}`, { reason })
      logger.debug(`dropped a group: ${detail}`, { reason })
      equal += 1
      if (sent === 0 && equal === tellingDrops) logger.warn(allEqual)
    },
    evaluationStart: (step) => logger.info("evaluation begins", { step }),
    evaluationEnd: ({ step, result, seconds }) =>
      logger.info("evaluation done", { step, seconds: Number(seconds.toFixed(1)), ...result?.metrics }),
    evaluationFail: ({ step, cause }) =>
      logger.error(`the evaluation failed: ${cause instanceof Error ? cause.message : String(cause)}`, { step }),
  }
}
