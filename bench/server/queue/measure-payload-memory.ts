import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

import { ServerProcess } from "./server-process.ts"
import { begin, groupSize, Trainer } from "./trainer.ts"

const tokensEach = 50_000
const pushesAtOnce = 4

/**
 * Resident bytes of a server that holds so many bytes of large groups, per queued byte: all that it has grown since its
 * start, and what it has grown since its caches and buffers were full.
 */
export async function measurePayloadMemory(
  warmBytes: number,
  queuedBytes: number,
): Promise<{ all: number; more: number }> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-bench-"))
  const server = await ServerProcess.start(["--data-dir", folder])
  const trainer = new Trainer(server.address)
  await begin(trainer, null)
  const tokens = Array.from({ length: groupSize }, () =>
    Array.from({ length: tokensEach }, () => Math.floor(Math.random() * 128_000)),
  )
  const group = JSON.stringify({ tokens, masks: tokens, scores: [1, 2, 3, 4], env_id: 0 })
  const body = gzipSync(group, { level: 1 })
  const headers = { "content-type": "application/json", "content-encoding": "gzip" }
  const push = async (): Promise<void> => {
    const answer = await fetch(`${server.address}/scored_data`, { method: "POST", body, headers })
    if (answer.status !== 200) throw new Error(`a push was answered with ${answer.status}: ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  const pushUntil = async (bytes: number): Promise<number> => {
    for (;;) {
      const metrics = await trainer.call("GET", "/metrics")
      const queued = Number(/^atropos_queue_bytes (\S+)/m.exec(metrics)?.[1])
      if (queued >= bytes) return queued
      await Promise.all(Array.from({ length: pushesAtOnce }, push))
    }
  }
  try {
    const atStart = server.residentBytes()
    const warm = await pushUntil(warmBytes)
    const whenWarm = server.residentBytes()
    const queued = await pushUntil(queuedBytes)
    const atEnd = server.residentBytes()
    return { all: (atEnd - atStart) / queued, more: (atEnd - whenWarm) / (queued - warm) }
  } finally {
    await trainer.close()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}
