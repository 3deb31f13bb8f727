import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { fillRun } from "./fill-run.ts"
import { ServerProcess } from "./server-process.ts"
import { Trainer } from "./trainer.ts"

/** Bytes of groups that a killed server has just taken: they lie in its write-ahead log. */
const killedWithBytes = 12e6

/** Seconds from the start of a process to its first answer, by what it finds; the cases take turns. */
export async function measureStart(options: {
  groups: number
  bytesEach: number
  rounds: number
}): Promise<Map<string, number[]>> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-bench-"))
  const full = join(folder, "full")
  try {
    await fillRun(full, options.groups, options.bytesEach)
    const found = `${options.groups} groups, ${(statSync(join(full, "run.sqlite")).size / 1e9).toFixed(1)} GB`
    const seconds = new Map<string, number[]>()
    const note = (what: string, value: number): void => void seconds.set(what, [...(seconds.get(what) ?? []), value])
    for (let round = 0; round < options.rounds; round++) {
      note("nothing there", await startOnce(join(folder, "empty")))
      note(`${found}, after a clean stop`, await startOnce(full))
      await killUnderPushes(full)
      note(`${found}, after kill -9`, await startOnce(full))
      if (forgetPages(full)) note(`${found}, not in the page cache`, await startOnce(full))
    }
    return seconds
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function startOnce(directory: string): Promise<number> {
  const start = process.hrtime.bigint()
  const server = await ServerProcess.start(["--data-dir", directory])
  const poller = new Trainer(server.address)
  await poller.call("GET", "/status-env?env_id=1")
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  await poller.close()
  await server.stop()
  return seconds
}

async function killUnderPushes(directory: string): Promise<void> {
  const server = await ServerProcess.start(["--data-dir", directory])
  const pusher = new Trainer(server.address)
  for (let bytes = 0; bytes < killedWithBytes;) {
    const tokens = [Array.from({ length: 50_000 }, () => Math.floor(Math.random() * 128_000))]
    const group = { tokens, masks: tokens, scores: [1] }
    await pusher.call("POST", "/scored_data", group)
    bytes += JSON.stringify(group).length / 2
  }
  await server.kill()
  await pusher.close()
}

/** Drops the run's file from the page cache, where there is a `dd` that can. */
function forgetPages(directory: string): boolean {
  const file = join(directory, "run.sqlite")
  return spawnSync("dd", [`if=${file}`, "iflag=nocache", "count=0"], { stdio: "ignore" }).status === 0
}
