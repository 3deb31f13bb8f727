import { expect, test } from "vitest"

import { isComplete, workerLimit, type WorkerLimitInput } from "./worker-limit.ts"

type Change = Partial<WorkerLimitInput["config"]> & Partial<WorkerLimitInput["status"]> & Partial<WorkerLimitInput>

/** Limit with groups of 4, batches of 32, three of them, eight workers and an empty queue, but for `change`. */
function limit(change: Change = {}): number {
  const pick = <Value>(key: keyof Change, fallback: Value): Value => (change[key] as Value | undefined) ?? fallback
  return workerLimit({
    config: {
      groupSize: pick("groupSize", 4),
      maxBatchesOffpolicy: pick("maxBatchesOffpolicy", 3),
      minBatchAllocation: pick<number | null>("minBatchAllocation", null),
      evalHandling: pick("evalHandling", "STOP_TRAIN" as const),
      evalLimitRatio: pick("evalLimitRatio", 0.5),
    },
    maxWorkers: pick("maxWorkers", 8),
    batchSize: pick("batchSize", 32),
    status: {
      queue_size: pick("queue_size", 0),
      self_queue_size: pick("self_queue_size", 0),
      max_group_size: pick("max_group_size", 4),
      unallocated_fraction: pick("unallocated_fraction", 1),
    },
    evaluating: pick("evaluating", false),
  })
}

test("is what max_num_workers says while the queue has room", () => {
  expect(limit()).toBe(8)
  expect(limit({ maxWorkers: 5 })).toBe(5)
})

test("leaves no more in flight than fit into the batches that may wait", () => {
  expect(limit({ queue_size: 20 })).toBe(4)
  expect(limit({ queue_size: 20, maxBatchesOffpolicy: 4 })).toBe(8)
  expect(limit({ queue_size: 11, groupSize: 8 })).toBe(1)
  expect(limit({ queue_size: 24 })).toBe(0)
  expect(limit({ queue_size: 30 })).toBe(0)
})

test("counts only the share of the batch that others have not reserved", () => {
  expect(limit({ unallocated_fraction: 0.25, maxWorkers: 100 })).toBe(6)
  expect(limit({ unallocated_fraction: 0.25, minBatchAllocation: 0.25, maxWorkers: 100 })).toBe(12)
})

test("is raised until the own queue holds the environment's minimum, in whole packs", () => {
  const share = { minBatchAllocation: 0.5, unallocated_fraction: 0.5, maxWorkers: 2 }
  expect(limit(share)).toBe(12)
  expect(limit({ ...share, self_queue_size: 11 })).toBe(2)
  expect(limit({ ...share, max_group_size: 20 })).toBe(15)
  expect(limit({ ...share, self_queue_size: 10, queue_size: 500 })).toBe(2)
  expect(limit({ ...share, self_queue_size: 12, queue_size: 500 })).toBe(0)
})

test("during an evaluation is nothing, a share, or as ever", () => {
  expect(limit({ evaluating: true })).toBe(0)
  expect(limit({ evaluating: true, evalHandling: "LIMIT_TRAIN" })).toBe(4)
  expect(limit({ evaluating: true, evalHandling: "LIMIT_TRAIN", evalLimitRatio: 0.25 })).toBe(2)
  expect(limit({ evaluating: true, evalHandling: "NONE" })).toBe(8)
})

test("a run is complete when its steps and the batches that wait are more than it shall have", () => {
  const sizes = { groupSize: 4, batchSize: 8, totalSteps: 10 }
  expect(isComplete({ current_step: 10, queue_size: 1 }, sizes)).toBe(false)
  expect(isComplete({ current_step: 10, queue_size: 2 }, sizes)).toBe(true)
  expect(isComplete({ current_step: 9, queue_size: 3 }, sizes)).toBe(false)
  expect(isComplete({ current_step: 11, queue_size: 0 }, sizes)).toBe(true)
})
