import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

/** More rounds find rarer moments. */
const rounds = Number(process.env["ATROPOS_KILL_ROUNDS"] ?? 20)

it(`a store killed at ${rounds} random moments keeps all that it acknowledged, in order and once`, async () => {
  const directory = mkdtempSync(join(tmpdir(), "atropos-kill-"))
  const program = fileURLToPath(new URL("./store-kill-child.ts", import.meta.url))
  let acknowledged = -1
  let found = 0
  for (let round = 0; round <= rounds; round++) {
    const child = spawn(process.execPath, [program, directory, "8"], { stdio: ["ignore", "pipe", "pipe"] })
    let complaint = ""
    child.stderr.on("data", (data: Buffer) => (complaint += data.toString()))
    const ready = Promise.withResolvers<void>()
    const exited = once(child, "exit")
    const lines = createInterface(child.stdout)
    const heard = once(lines, "close")
    lines.on("line", (line) => {
      const [word, number] = line.split(" ")
      if (word === "found") {
        found = Number(number)
        ready.resolve()
      } else acknowledged = Math.max(acknowledged, Number(number))
    })
    await Promise.race([ready.promise, exited])
    expect(complaint, `round ${round}`).toBe("")
    // Groups are acknowledged in order, so the highest acknowledged one says how many there must be.
    expect(found, `round ${round}`).toBeGreaterThan(acknowledged)
    // The moment of the kill is what this test varies; nothing is waited for.
    await delay(Math.random() * 400)
    child.kill("SIGKILL")
    await Promise.all([exited, heard])
    expect(complaint, `round ${round}`).toBe("")
  }
  expect(acknowledged).toBeGreaterThan(rounds)
  rmSync(directory, { recursive: true })
})
