import { parentPort, workerData } from "node:worker_threads"
import { createCodec } from "../create-codec.ts"
import { prepareGroups } from "../prepare-groups.ts"
import type { IngestResult, PreparedGroup } from "../prepared-group.ts"
import type { Job, JobDone, WorkerSetup } from "./messages.ts"

const { limits } = workerData as WorkerSetup
const codec = createCodec()

parentPort?.on("message", (job: Job) => {
  const done = run(job)
  // A large body that came for good is freed now and not when the garbage is collected.
  if (job.body.buffer instanceof ArrayBuffer) job.body.buffer.transfer(0)
  parentPort?.postMessage(done, done.outcome === "result" ? gatherSegments(done.result) : [])
})

function run(job: Job): JobDone {
  try {
    return { outcome: "result", result: prepareGroups(job, limits, codec) }
  } catch (error) {
    return { outcome: "failed", message: error instanceof Error ? error.message : String(error) }
  }
}

/** Segments from here on travel in their own memory. */
const ownMemoryBytes = 4096

/**
 * The memory that travels with the segments, which is what is not shared. Small ones are put into one buffer: each
 * buffer that travels has its cost.
 */
function gatherSegments(result: IngestResult): ArrayBuffer[] {
  if (!result.ok) return []
  const isSmall = ({ segment }: PreparedGroup): boolean =>
    segment.length < ownMemoryBytes && segment.buffer instanceof ArrayBuffer
  const small = result.groups.filter(isSmall)
  const gathered = new ArrayBuffer(small.reduce((sum, { segment }) => sum + segment.length, 0))
  let offset = 0
  for (const group of small) {
    const target = new Uint8Array(gathered, offset, group.segment.length)
    target.set(group.segment)
    group.segment = target
    offset += target.length
  }
  return [...new Set(result.groups.map(({ segment }) => segment.buffer))].filter(
    (buffer) => buffer instanceof ArrayBuffer,
  )
}
