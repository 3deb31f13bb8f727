import { parentPort, workerData } from "node:worker_threads"
import { prepareGroups } from "../prepare-groups.ts"
import type { IngestResult } from "../prepared-group.ts"
import { createWasmCodec } from "../wasm/wasm-codec.ts"
import type { Job, JobDone, WorkerSetup } from "./messages.ts"

const { limits } = workerData as WorkerSetup
const codec = createWasmCodec()

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

/** The memory of the segments. That of many groups is put into one buffer: each buffer that travels has its cost. */
function gatherSegments(result: IngestResult): ArrayBuffer[] {
  if (!result.ok || result.groups.length === 0) return []
  const [first, ...others] = result.groups
  const own = first?.segment.buffer
  if (others.length === 0 && own instanceof ArrayBuffer) return [own]
  const gathered = new ArrayBuffer(result.groups.reduce((sum, { segment }) => sum + segment.length, 0))
  let offset = 0
  for (const group of result.groups) {
    const target = new Uint8Array(gathered, offset, group.segment.length)
    target.set(group.segment)
    group.segment = target
    offset += target.length
  }
  return [gathered]
}
