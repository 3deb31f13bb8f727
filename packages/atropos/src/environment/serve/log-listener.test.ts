import { expect, test } from "vitest"

import { createLineLogger } from "../../runtime/logger.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import { createLogListener } from "./log-listener.ts"
import type { RunListener } from "./run-listener.ts"

function listening(): { listener: RunListener; log: () => string } {
  const lines: string[] = []
  const logger = createLineLogger({ level: "info", json: false, write: (line) => void lines.push(line) })
  return { listener: createLogListener(logger), log: () => lines.join("") }
}

const equal = { reason: "equal-scores", detail: "all scores are 0" } as const
const group: TrajectoryGroup = { sequences: [] }

test("when every group has equal scores and none is sent, that is said once, with the way out", () => {
  const { listener, log } = listening()
  for (let drop = 0; drop < 100; drop++) listener.groupDrop?.(equal)
  expect(log().match(/equal scores/g)).toHaveLength(1)
  expect(log()).toContain("--env.ensure_scores_are_not_same false")
})

test("groups of equal scores among others that were sent are for the debug level", () => {
  const { listener, log } = listening()
  listener.groupSent?.(group)
  for (let drop = 0; drop < 100; drop++) listener.groupDrop?.(equal)
  expect(log()).toBe("")
})

test("rollouts that the end of the run cancels are no warnings; others are", () => {
  const { listener, log } = listening()
  const cause = new Error("the run has all its steps")
  const failed = { status: "failed", index: 0, seconds: 1 } as const
  listener.rolloutEnd?.({ ...failed, failure: { boundary: "cancelled", cause, retryable: true } })
  expect(log()).toBe("")
  listener.rolloutEnd?.({ ...failed, failure: { boundary: "scorer", cause, retryable: false } })
  expect(log()).toContain("warn  a rollout failed at scorer")
})
