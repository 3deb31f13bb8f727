// node bench/server-queue.ts [--short] [groups …]
//
// Time per status poll, push and batch at several lengths of the queue, with and without minimum allocations, over
// HTTP against a durable run in a process of its own; memory per queued group; and the time from start to the first
// answer. Group and batch size are fixed, so that only the queue's length differs. With `--short` the queues are shorter, and it fails on a gross loss.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { Client } from "undici"

import { ServerProcess } from "./server-queue/server-process.ts"

const short = process.argv.includes("--short")
const asked = process.argv.slice(2).filter((argument) => argument !== "--short")
const lengths = asked.length > 0 ? asked.map(Number) : short ? [10, 1000, 100_000] : [10, 1000, 100_000, 1_000_000]
/** How far past a target is a gross loss, and no noise of a busy machine. */
const grossFactor = 3
const groupSize = 4
const batchSize = 32
const rounds = 5
const callsPerRound = 40
const groupsPerPush = 1000

const group = {
  tokens: Array.from({ length: groupSize }, (_, row) => [row, 2, 3, 4]),
  masks: Array.from({ length: groupSize }, () => [-100, 2, 3, 4]),
  scores: [1.5, 0.5, 0.25, -1.5],
}

interface Times {
  status: number
  push: number
  batch: number
}

class Trainer {
  readonly #client: Client
  #pushed = 0

  constructor(address: string) {
    this.#client = new Client(address, { pipelining: 1 })
  }

  async call(method: "GET" | "POST", path: string, body?: unknown): Promise<string> {
    const response = await this.#client.request({
      method,
      path,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`)
    return text
  }

  /** Groups of the environments in turn. */
  async push(count: number): Promise<void> {
    for (let left = count; left > 0; left -= groupsPerPush) {
      const groups = Array.from({ length: Math.min(left, groupsPerPush) }, () => ({
        ...group,
        env_id: this.#pushed++ % 4,
      }))
      await this.call("POST", "/scored_data_list", groups)
    }
  }

  async pushOne(): Promise<void> {
    await this.call("POST", "/scored_data", { ...group, env_id: this.#pushed++ % 4 })
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

async function begin(trainer: Trainer, minimum: number | null): Promise<void> {
  await trainer.call("POST", "/register", {
    wandb_group: "g",
    wandb_project: "p",
    batch_size: batchSize,
    max_token_len: 64,
    checkpoint_dir: "",
    save_checkpoint_interval: 1,
    starting_step: 0,
    num_steps: 1_000_000,
  })
  await trainer.call("GET", "/batch")
  for (let index = 0; index < 4; index++) {
    const environment = { max_token_length: 64, desired_name: "e", weight: 1, group_size: groupSize }
    await trainer.call("POST", "/register-env", { ...environment, min_batch_allocation: minimum })
  }
}

function report(what: string, value: number, target: number, unit = "", digits = 2): void {
  console.log(`  ${what} ${value.toFixed(digits)}${unit} (at most ${target})${value > target ? " MISSED" : ""}`)
  if (!short || value <= target * grossFactor) return
  console.error(`gross loss: ${what} ${value.toFixed(digits)}${unit}`)
  process.exitCode = 1
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - start) / 1000
}

/** Medians of one round; the queue is as long afterwards as before. */
async function measureRound(trainer: Trainer): Promise<Times> {
  const times: Record<keyof Times, number[]> = { status: [], push: [], batch: [] }
  for (let index = 0; index < callsPerRound; index++) {
    times.status.push(await timeOf(() => trainer.call("GET", "/status-env?env_id=1")))
    times.batch.push(await timeOf(() => trainer.call("GET", "/batch")))
    for (let pushed = 0; pushed < batchSize / groupSize; pushed++)
      times.push.push(await timeOf(() => trainer.pushOne()))
  }
  return { status: median(times.status), push: median(times.push), batch: median(times.batch) }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

async function measureMode(minimum: number | null): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-bench-"))
  const server = await ServerProcess.start(["--data-dir", folder])
  const trainer = new Trainer(server.address)
  await begin(trainer, minimum)
  console.log(minimum === null ? "without minimums" : `four environments with a minimum of ${minimum}`)
  console.log("    groups  status-env µs     push µs    batch µs")
  const rows: Times[] = []
  let queued = 0
  let base = 0
  for (const length of lengths) {
    await trainer.push(length - queued)
    queued = length
    await measureRound(trainer)
    const measured: Times[] = []
    for (let round = 0; round < rounds; round++) measured.push(await measureRound(trainer))
    const row: Times = {
      status: median(measured.map(({ status }) => status)),
      push: median(measured.map(({ push }) => push)),
      batch: median(measured.map(({ batch }) => batch)),
    }
    rows.push(row)
    const cells = [row.status, row.push, row.batch].map((value) => value.toFixed(0).padStart(12)).join("")
    console.log(`${String(length).padStart(10)}  ${cells}`)
    if (length === lengths[0]) base = server.residentBytes()
  }
  for (const name of ["status", "push", "batch"] as const) {
    const values = rows.map((row) => row[name])
    const first = values[0] ?? 1
    report(`${name}: slowest over first`, Math.max(...values) / first, 2)
  }
  const perGroup = (server.residentBytes() - base) / (queued - (lengths[0] ?? 0))
  // In a shorter queue the process's own growth outweighs the groups.
  if (queued >= 1_000_000) report("resident memory per queued group:", perGroup, 400, " bytes", 0)
  await trainer.close()
  await server.stop()
  rmSync(folder, { recursive: true })
}

async function measureStart(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-bench-"))
  const first = await ServerProcess.start(["--data-dir", folder])
  const trainer = new Trainer(first.address)
  await begin(trainer, null)
  await trainer.push(100_000)
  await trainer.close()
  await first.stop()
  const seconds: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint()
    const server = await ServerProcess.start(["--data-dir", folder])
    const poller = new Trainer(server.address)
    await poller.call("GET", "/status-env?env_id=1")
    seconds.push(Number(process.hrtime.bigint() - start) / 1e9)
    await poller.close()
    await server.stop()
  }
  console.log("after a clean stop with 100000 groups")
  report("start to first answer:", median(seconds), 1, " s")
  rmSync(folder, { recursive: true })
}

await measureStart()
await measureMode(null)
await measureMode(0.25)
