import type { PreparedGroup } from "../bytes/prepared-group.ts"
import { canSum, mergeCounts } from "../run/forming/subset-sums.ts"
import type { Run } from "../run/run.ts"

/** Whether these groups bring a batch nearer of which others are queued, and that can not be formed without more. */
export function bringsBatchNearer(run: Run, groups: readonly Pick<PreparedGroup, "envId" | "size">[]): boolean {
  const { obstacle, queue, batchSize } = run
  if (obstacle === null || obstacle === "not-registered") return false
  switch (obstacle.kind) {
    case "too-few":
      return true
    case "minimum":
      return groups.some(({ envId }) => envId === obstacle.blocking.environment)
    case "sums": {
      const queued = queue.sizes.map(({ size, count }) => ({ size, count }))
      // One group of a new size may not be enough, and then makes the next one of use.
      const isNew = groups.some(({ size }) => !queued.some((other) => other.size === size && other.count > 0))
      return isNew || canSum(mergeCounts([queued, groups.map(({ size }) => ({ size, count: 1 }))]), batchSize)
    }
  }
}
