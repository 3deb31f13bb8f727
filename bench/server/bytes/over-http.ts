// What a whole server costs: durable pushes, batches, and polls beside pushes, with the server in a process of its own.
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Child } from "./child.ts"
import { formatRounds, measureRounds, median, type RatioResult } from "./measure.ts"
import { type BenchPayload, createPayload } from "./payload.ts"

const producers = 4
/** As many as there are threads that take pushes in, and some that wait: the server has no idle moment. */
const pollProducers = Math.min(8, Math.max(1, availableParallelism() - 1)) + 4
/** Groups of a batch: 64, 256 and 640 sequences. A batch has a price of its own, beside that of its bytes. */
const batchSizes = [8, 32, 80] as const
const gzipJson = { "content-type": "application/json", "content-encoding": "gzip" }
const plainJson = { "content-type": "application/json" }

export interface Effort {
  rounds: number
  /** Pushes of one round, in each form; a multiple of the groups of a batch. */
  pushes: number
  /** Polls beside pushes. */
  polls: number
  /** Batches until the code is compiled, as it is in a server that runs for long. */
  warmUpBatches: number
}

export async function measureOverHttp({ rounds, pushes, polls, warmUpBatches }: Effort): Promise<RatioResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-bench-"))
  const server = await Child.start("atropos", folder)
  try {
    const payloads = Array.from({ length: 4 }, (_, index) => createPayload({ seed: index + 1 }))
    await register(server, batchSizes[0])
    await server.call("GET", "/batch")
    await server.call("POST", "/register-env", { headers: plainJson, body: Buffer.from(JSON.stringify(environment)) })

    const gunzip: number[] = []
    const gzipped: number[] = []
    const plain: number[] = []
    let compressions = 0
    let stringifiedChars = 0
    let batchCount = 0
    await warmUp(server, warmUpBatches)
    const downloads: Download[] = []
    for (const groups of batchSizes.filter((size) => (2 * pushes) % size === 0)) {
      await register(server, groups)
      await push(server, payloads, "json", pushes)
      await push(server, payloads, "gzip", pushes)
      const count = (2 * pushes) / groups
      let bytes = 0
      for (let taken = 0; taken < count; taken += 1) bytes = (await download(server)).bytes
      // As many bodies as there are batches in a round: nor does a trainer get the same bytes twice.
      const rawServer = await Child.start("raw", String(bytes), String(count))
      for (let taken = 0; taken < warmUpBatches; taken += 1) await download(rawServer)
      downloads.push({ groups, count, bytes, rawServer, batches: [], raw: [] })
    }
    for (let round = 0; round < rounds * downloads.length; round += 1) {
      gunzip.push(measureGunzip(payloads))
      gzipped.push(await measurePushes(server, payloads, "gzip", pushes))
      plain.push(await measurePushes(server, payloads, "json", pushes))
      const kind = downloads[round % downloads.length]
      if (kind === undefined) break
      await register(server, kind.groups)
      const before = await server.usage()
      kind.batches.push(await measureDownloads(server, kind.count))
      const after = await server.usage()
      compressions += after.compressions - before.compressions
      stringifiedChars += after.stringifiedChars - before.stringifiedChars
      batchCount += kind.count
      kind.raw.push(await measureDownloads(kind.rawServer, kind.count))
    }
    for (const { rawServer } of downloads) await rawServer.stop()
    const times = await measurePolls(server, payloads, polls)

    console.log("\nover HTTP, durable")
    console.log(formatRounds("gunzip", gunzip, "MB per CPU-s"))
    console.log(formatRounds("durable pushes, gzip bodies", gzipped, "MB per CPU-s"))
    console.log(formatRounds("durable pushes, plain bodies", plain, "MB per CPU-s"))
    for (const { groups, bytes, batches, raw } of downloads) {
      console.log(formatRounds(`batches of ${groups} groups (${bytes} bytes)`, batches, "MB per CPU-s"))
      console.log(formatRounds("raw node:http download of as many bytes", raw, "MB per CPU-s"))
    }
    console.log(
      `${batchCount} batches: ${compressions} compressor calls, ` +
        `${(stringifiedChars / batchCount).toFixed(0)} characters of JSON.stringify each (events for the log)`,
    )
    console.log(
      `${polls} polls beside ${pollProducers} producers that push (${times.megabytesPerSecond.toFixed(0)} MB/s of JSON): ` +
        `median ${times.median.toFixed(2)} ms, p99 ${times.p99.toFixed(2)} ms (target 10)`,
    )
    return [
      { name: "durable gzip pushes / gunzip", ratio: median(gzipped) / median(gunzip), target: 0.4, gross: 0.2 },
      { name: "durable plain pushes / gunzip", ratio: median(plain) / median(gunzip), target: 0.4, gross: 0.2 },
      ...downloads.map(({ groups, batches, raw }) => ({
        name: `batches of ${groups} groups / raw download`,
        ratio: median(batches) / median(raw),
        target: 0.7,
        gross: 0.12,
      })),
      { name: "10 ms / p99 of polls beside pushes", ratio: 10 / times.p99, target: 1, gross: 0.02 },
    ]
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}

interface Download {
  groups: number
  /** Batches of a round. */
  count: number
  bytes: number
  rawServer: Child
  batches: number[]
  raw: number[]
}

async function register(server: Child, groupsPerBatch: number): Promise<void> {
  const body = Buffer.from(JSON.stringify({ ...registration, batch_size: 8 * groupsPerBatch }))
  await server.call("POST", "/register", { headers: plainJson, body })
}

const registration = {
  wandb_group: "bench",
  wandb_project: "bench",
  max_token_len: 4096,
  checkpoint_dir: "/tmp",
  save_checkpoint_interval: 100,
  starting_step: 0,
  num_steps: 1_000_000,
}
const environment = { max_token_length: 4096, desired_name: "bench", weight: 1, group_size: 8 }

/** Of the payloads in turn, as they are pushed: one alone would stay in the processor's caches. */
function measureGunzip(payloads: readonly BenchPayload[]): number {
  const [bytes] = payloads.map(({ json }) => json.length)
  if (bytes === undefined) throw new RangeError("no payload")
  let next = 0
  const call = (): void => void gunzipSync(payloads[next++ % payloads.length]?.gzip ?? "", { chunkSize: bytes + 64 })
  return median(measureRounds([{ name: "gunzip", bytes, call }], 1, 150).get("gunzip") ?? [])
}

/** Takes batches of small groups, which are otherwise dealt with like large ones. */
async function warmUp(server: Child, batches: number): Promise<void> {
  const group = createPayload({ length: 64 }).json.toString()
  const body = Buffer.from(
    `[${Array<string>(8 * batchSizes[0])
      .fill(group)
      .join(",")}]`,
  )
  for (let taken = 0; taken < batches; taken += 8) {
    await server.call("POST", "/scored_data_list", { body, headers: plainJson })
    for (let index = 0; index < 8; index += 1) await download(server)
  }
}

function push(server: Child, payloads: readonly BenchPayload[], form: "gzip" | "json", count: number): Promise<number> {
  return pushWhile(server, payloads, form, producers, (pushed) => pushed < count)
}

/** Several producers, each with one push after another; the bytes of their JSON. */
async function pushWhile(
  server: Child,
  payloads: readonly BenchPayload[],
  form: "gzip" | "json",
  producerCount: number,
  goesOn: (pushed: number) => boolean,
): Promise<number> {
  let next = 0
  let bytes = 0
  const produce = async (): Promise<void> => {
    for (let index = next; goesOn(index); index = next) {
      next += 1
      const payload = payloads[index % payloads.length]
      if (payload === undefined) return
      await server.call("POST", "/scored_data", {
        body: payload[form],
        headers: form === "gzip" ? gzipJson : plainJson,
      })
      bytes += payload.json.length
    }
  }
  await Promise.all(Array.from({ length: producerCount }, produce))
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
  count: number,
): Promise<{ median: number; p99: number; megabytesPerSecond: number }> {
  const times: number[] = []
  const start = performance.now()
  const pushed = pushWhile(server, payloads, "gzip", pollProducers, () => times.length < count)
  while (times.length < count) {
    const sent = performance.now()
    await server.call("GET", "/status-env?env_id=0")
    times.push(performance.now() - sent)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const megabytesPerSecond = (await pushed) / (performance.now() - start) / 1000
  const sorted = times.toSorted((a, b) => a - b)
  return { median: median(times), p99: sorted[Math.ceil(count * 0.99) - 1] ?? 0, megabytesPerSecond }
}
