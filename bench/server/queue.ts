// node bench/server/queue.ts [--short] [groups …]
//
// Time per status poll, push and batch at several lengths of the queue, with and without minimum allocations, over
// HTTP against a durable run in a process of its own; memory per queued group and per queued byte; and the time from
// start to the first answer over 10 GB of groups (which lie in the system's temporary folder meanwhile). Group and batch
// size are fixed, so that only the queue's length differs. With `--short` queues are shorter and smaller, and it fails
// on a gross loss.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { measurePayloadMemory } from "./queue/measure-payload-memory.ts"
import { measureStart } from "./queue/measure-start.ts"
import { ServerProcess } from "./queue/server-process.ts"
import { batchSize, begin, groupSize, Trainer } from "./queue/trainer.ts"

const short = process.argv.includes("--short")
const asked = process.argv.slice(2).filter((argument) => argument !== "--short")
const lengths = asked.length > 0 ? asked.map(Number) : short ? [10, 1000, 100_000] : [10, 1000, 100_000, 1_000_000]
/** How far past a target is a gross loss, and no noise of a busy machine. */
const grossFactor = 3
const rounds = 5
const callsPerRound = 40

interface Times {
  status: number
  push: number
  batch: number
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

const starts = await measureStart({ groups: 100_000, bytesEach: short ? 5000 : 100_000, rounds })
const [firstStart = 1, ...otherStarts] = [...starts.values()].map(median)
for (const [what, seconds] of starts) report(`start to first answer, ${what}:`, median(seconds), 1, " s")
report("slowest start over that with nothing there", Math.max(...otherStarts) / firstStart, 2)
if (!short) {
  const { all, more } = await measurePayloadMemory(256e6, 4e9)
  report("resident memory per queued payload byte, with 4 GB queued:", all, 0.05, "", 3)
  report("the same beyond the first 0.25 GB:", more, 0.05, "", 3)
}
await measureMode(null)
await measureMode(0.25)
