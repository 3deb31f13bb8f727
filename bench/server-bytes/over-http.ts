// What a whole server costs: durable pushes, batches, and polls beside pushes, with the server in a process of its own.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Child } from "./child.ts"
import { formatRounds, measureRounds, median, type RatioResult } from "./measure.ts"
import { type BenchPayload, createPayload } from "./payload.ts"

const producers = 4
const groupsPerBatch = 8
const gzipJson = { "content-type": "application/json", "content-encoding": "gzip" }
const plainJson = { "content-type": "application/json" }

export interface Effort {
  rounds: number
  /** Pushes of one round; a multiple of the groups of a batch. */
  pushes: number
}

export async function measureOverHttp({ rounds, pushes }: Effort): Promise<RatioResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-bench-"))
  const server = await Child.start("atropos", folder)
  try {
    const payloads = Array.from({ length: 4 }, (_, index) => createPayload({ seed: index + 1 }))
    await server.call("POST", "/register", { headers: plainJson, body: Buffer.from(JSON.stringify(registration)) })
    await server.call("GET", "/batch")
    await server.call("POST", "/register-env", { headers: plainJson, body: Buffer.from(JSON.stringify(environment)) })

    const gunzip: number[] = []
    const gzipped: number[] = []
    const plain: number[] = []
    const batches: number[] = []
    const raw: number[] = []
    let compressions = 0
    let stringifiedChars = 0
    const batchBytes = await warmUp(server, payloads, 2 * pushes)
    const rawServer = await Child.start("raw", String(batchBytes))
    for (let round = 0; round < rounds; round += 1) {
      gunzip.push(measureGunzip(payloads))
      gzipped.push(await measurePushes(server, payloads, "gzip", pushes))
      plain.push(await measurePushes(server, payloads, "json", pushes))
      const before = await server.usage()
      batches.push(await measureDownloads(server, (2 * pushes) / groupsPerBatch))
      const after = await server.usage()
      compressions += after.compressions - before.compressions
      stringifiedChars += after.stringifiedChars - before.stringifiedChars
      raw.push(await measureDownloads(rawServer, (2 * pushes) / groupsPerBatch))
    }
    await rawServer.stop()
    const polls = await measurePolls(server, payloads, pushes)

    console.log(`\nover HTTP, durable, batches of ${groupsPerBatch} groups (${batchBytes} bytes)`)
    console.log(formatRounds("gunzip", gunzip, "MB per CPU-s"))
    console.log(formatRounds("durable pushes, gzip bodies", gzipped, "MB per CPU-s"))
    console.log(formatRounds("durable pushes, plain bodies", plain, "MB per CPU-s"))
    console.log(formatRounds("batches, wire bytes", batches, "MB per CPU-s"))
    console.log(formatRounds("raw node:http download", raw, "MB per CPU-s"))
    const calls = (rounds * 2 * pushes) / groupsPerBatch
    console.log(
      `${calls} batches: ${compressions} compressor calls, ${stringifiedChars / calls} characters of JSON.stringify each`,
    )
    console.log(
      `${polls.count} polls beside pushes: median ${polls.median.toFixed(2)} ms, p99 ${polls.p99.toFixed(2)} ms (target 10)`,
    )
    return [
      { name: "durable gzip pushes / gunzip", ratio: median(gzipped) / median(gunzip), target: 0.4, gross: 0.2 },
      { name: "durable plain pushes / gunzip", ratio: median(plain) / median(gunzip), target: 0.4, gross: 0.2 },
      { name: "batches / raw download", ratio: median(batches) / median(raw), target: 0.7, gross: 0.12 },
      { name: "10 ms / p99 of polls beside pushes", ratio: 10 / polls.p99, target: 1, gross: 0.02 },
    ]
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}

const registration = {
  wandb_group: "bench",
  wandb_project: "bench",
  batch_size: 8 * groupsPerBatch,
  max_token_len: 4096,
  checkpoint_dir: "/tmp",
  save_checkpoint_interval: 100,
  starting_step: 0,
  num_steps: 1_000_000,
}
const environment = { max_token_length: 4096, desired_name: "bench", weight: 1, group_size: 8 }

function measureGunzip(payloads: readonly BenchPayload[]): number {
  const [payload] = payloads
  if (payload === undefined) throw new RangeError("no payload")
  const bytes = payload.json.length
  const subject = { name: "gunzip", bytes, call: () => gunzipSync(payload.gzip, { chunkSize: bytes + 64 }) }
  return median(measureRounds([subject], 1, 150).get("gunzip") ?? [])
}

/** Pushes and takes batches until threads, memory and compiled code are there; the bytes of a batch. */
async function warmUp(server: Child, payloads: readonly BenchPayload[], pushes: number): Promise<number> {
  await push(server, payloads, "gzip", pushes)
  let bytes = 0
  for (let taken = 0; taken < pushes; taken += groupsPerBatch) bytes = (await download(server)).bytes
  return bytes
}

async function push(
  server: Child,
  payloads: readonly BenchPayload[],
  form: "gzip" | "json",
  count: number,
): Promise<number> {
  let next = 0
  let bytes = 0
  const produce = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const payload = payloads[index % payloads.length]
      if (payload === undefined) return
      await server.call("POST", "/scored_data", {
        body: payload[form],
        headers: form === "gzip" ? gzipJson : plainJson,
      })
      bytes += payload.json.length
    }
  }
  await Promise.all(Array.from({ length: producers }, produce))
  return bytes
}

async function measurePushes(
  server: Child,
  payloads: readonly BenchPayload[],
  form: "gzip" | "json",
  count: number,
): Promise<number> {
  const before = await server.usage()
  const bytes = await push(server, payloads, form, count)
  const after = await server.usage()
  return bytes / (after.cpuMicros - before.cpuMicros)
}

function download(server: Child): Promise<{ bytes: number }> {
  return server.call("GET", "/batch", { headers: { "accept-encoding": "gzip, deflate" } })
}

async function measureDownloads(server: Child, count: number): Promise<number> {
  const before = await server.usage()
  let bytes = 0
  for (let index = 0; index < count; index += 1) bytes += (await download(server)).bytes
  const after = await server.usage()
  return bytes / (after.cpuMicros - before.cpuMicros)
}

/** Polls as an environment does, while producers push as fast as they can. */
async function measurePolls(
  server: Child,
  payloads: readonly BenchPayload[],
  pushes: number,
): Promise<{ count: number; median: number; p99: number }> {
  const times: number[] = []
  let pushing = true
  const pushed = push(server, payloads, "gzip", 4 * pushes).finally(() => (pushing = false))
  while (pushing) {
    const start = performance.now()
    await server.call("GET", "/status-env?env_id=0")
    times.push(performance.now() - start)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await pushed
  const sorted = times.toSorted((a, b) => a - b)
  return { count: times.length, median: median(times), p99: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0 }
}
