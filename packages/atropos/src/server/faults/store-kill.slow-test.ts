import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const program = fileURLToPath(new URL("./store-kill-child.ts", import.meta.url))

/** More rounds find rarer moments. */
const rounds = Number(process.env["ATROPOS_KILL_ROUNDS"] ?? 20)

it(`a store killed at ${rounds} random moments keeps all that it acknowledged, in order and once`, async () => {
  const directory = mkdtempSync(join(tmpdir(), "atropos-kill-"))
  let kept = -1
  for (let round = 0; round <= rounds; round++) {
    const { found, acknowledged } = await commitUntilKilled(directory)
    // Groups are acknowledged in order, so the highest acknowledged one says how many there must be.
    expect(found, `groups found in round ${round}`).toBeGreaterThan(kept)
    kept = Math.max(kept, acknowledged)
  }
  expect(kept).toBeGreaterThan(rounds)
  rmSync(directory, { recursive: true })
})

/** How many groups a process found at its start, and the last one that it said was kept before it was killed. */
async function commitUntilKilled(directory: string): Promise<{ found: number; acknowledged: number }> {
  const child = spawn(process.execPath, [program, directory, "8"], { stdio: ["ignore", "pipe", "pipe"] })
  const ended = Promise.all([once(child, "close"), text(child.stderr)])
  const ready = Promise.withResolvers<void>()
  const said = { found: -1, acknowledged: -1 }
  createInterface(child.stdout).on("line", (line) => {
    const [word, number] = line.split(" ")
    if (word === "found") {
      said.found = Number(number)
      ready.resolve()
    } else said.acknowledged = Number(number)
  })
  await Promise.race([ready.promise, ended])
  // The moment of the kill is what this test varies; nothing is waited for.
  await delay(Math.random() * 400)
  child.kill("SIGKILL")
  const [, complaint] = await ended
  expect(complaint).toBe("")
  return said
}
