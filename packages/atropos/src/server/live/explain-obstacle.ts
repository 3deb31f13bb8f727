import { counted } from "../../runtime/counted.ts"
import type { Run } from "../run/run.ts"

/** Why no batch can be formed, in words; null when one can. */
export function explainObstacle(run: Run): string | null {
  const { obstacle, queue } = run
  if (obstacle === null) return null
  if (obstacle === "not-registered") return "no trainer has registered: POST /register first"
  const batchSize = run.registration?.batchSize ?? ""
  switch (obstacle.kind) {
    case "too-few":
      return `too few sequences: ${queue.available} of batch_size ${batchSize} are queued${describeOthers(run)}`
    case "minimum": {
      const { environment, sequences } = obstacle.blocking
      const { available } = queue.ownerNamed(environment)
      const name = run.environments.all[environment]?.wandbName ?? String(environment)
      return `environment ${environment} (${name}) has a minimum of ${sequences} sequences a batch and ${available} queued: it has to send more or be disconnected`
    }
    case "sums":
      return `no set of the queued groups sums to batch_size ${batchSize} exactly: there are ${describeSizes(run)}${describeOthers(run)}`
  }
}

const shownSizes = 8

function describeSizes({ queue }: Run): string {
  const classes = queue.sizes.filter(({ count }) => count > 0)
  const shown = classes.slice(0, shownSizes).map(({ size, count }) => `${count} of ${size}`)
  const more = classes.length > shownSizes ? ` and ${classes.length - shownSizes} more sizes` : ""
  return `${shown.join(", ")} sequences${more}`
}

/** What is there and does not count yet. */
function describeOthers({ table, queue, batches, damaged }: Run): string {
  let aside = 0
  for (const { size, counted } of queue.classes.values()) if (size > queue.limit) aside += counted
  let delivered = 0
  for (const batch of batches.open.values()) if (batch.delivered) delivered += batch.slots.length
  const buffered = table.count - queue.groups - aside - delivered
  const parts = [
    ...(aside > 0 ? [`${aside} larger groups are set aside until batch_size is large enough`] : []),
    ...(damaged.length > 0
      ? [`${counted(damaged.length, "group")} can not be read and ${damaged.length === 1 ? "is" : "are"} set aside`]
      : []),
    ...(buffered > 0
      ? [`${buffered} groups wait in their environments' buffers for others that complete group_size`]
      : []),
  ]
  return parts.length === 0 ? "" : `; ${parts.join("; ")}`
}
