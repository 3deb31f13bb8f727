import type { GroupQueue, SizeClass } from "../groups/group-queue.ts"
import { chooseExact } from "./exact-rule.ts"
import { chooseWithMinimums, findBlocking, type Minimum, scaleMinimums } from "./minimum-rule.ts"
import { choosePacks } from "./pack-rule.ts"
import { canSum } from "./subset-sums.ts"

/** Why no batch can be formed. */
export type Obstacle =
  | { kind: "too-few" }
  /** An environment has queued less than its minimum, as it applies. */
  | { kind: "minimum"; blocking: Minimum }
  | { kind: "sums" }

/** Why there is no batch of exactly `batchSize` sequences, or null when there is one. Looks at sizes, not at groups. */
export function findObstacle(queue: GroupQueue, minimums: readonly Minimum[], batchSize: number): Obstacle | null {
  const blocking = findBlocking(scaleMinimums(minimums, queue, batchSize), queue)
  if (blocking !== undefined) return { kind: "minimum", blocking }
  if (queue.available < batchSize) return { kind: "too-few" }
  return canSum(availableSizes(queue), batchSize) ? null : { kind: "sums" }
}

/** The groups of the next batch in its order, when there is no obstacle. Groups are never split; nothing is changed. */
export function chooseBatch(queue: GroupQueue, minimums: readonly Minimum[], batchSize: number): number[] | null {
  const classes = availableSizes(queue)
  if (minimums.length > 0) {
    return chooseWithMinimums(scaleMinimums(minimums, queue, batchSize), queue, classes, batchSize)
  }
  return choosePacks(classes, queue.sizeLinks, batchSize) ?? chooseExact(classes, queue.sizeLinks, batchSize)
}

function availableSizes(queue: GroupQueue): SizeClass[] {
  return queue.sizes.filter(({ count }) => count > 0)
}
