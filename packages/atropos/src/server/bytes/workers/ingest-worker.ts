import { parentPort, workerData } from "node:worker_threads"
import { prepareGroups } from "../prepare-groups.ts"
import type { IngestResult, PreparedGroup } from "../prepared-group.ts"
import { createWasmCodec } from "../wasm/wasm-codec.ts"
import type { Job, JobDone, WorkerSetup } from "./messages.ts"

const { limits } = workerData as WorkerSetup
const codec = createWasmCodec()

parentPort?.on("message", (job: Job) => {
  const done = run(job)
  const transfer: ArrayBuffer[] = [done.buffer]
  if (done.outcome === "result") transfer.push(...gatherSegments(done.result))
  parentPort?.postMessage(done, transfer)
})

function run(job: Job): JobDone {
  const { buffer } = job.body
  try {
    return { outcome: "result", result: prepareGroups(job, limits, codec), buffer }
  } catch (error) {
    return { outcome: "failed", message: error instanceof Error ? error.message : String(error), buffer }
  }
}

/** Puts the segments of many groups into one buffer: each buffer that travels has its cost. */
function gatherSegments(result: IngestResult): ArrayBuffer[] {
  if (!result.ok || result.groups.length === 0) return []
  const gathered = new ArrayBuffer(result.groups.reduce((sum, { segment }) => sum + segment.length, 0))
  let offset = 0
  const move = (group: PreparedGroup): void => {
    const target = new Uint8Array(gathered, offset, group.segment.length)
    target.set(group.segment)
    group.segment = target
    offset += target.length
  }
  result.groups.forEach(move)
  return [gathered]
}
