import { rmSync } from "node:fs"
import { mkdtemp, readdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { describe, expect, onTestFinished, test } from "vitest"

import type { CommandContext } from "./command.ts"
import { runCommand } from "./main.ts"

interface RunningCommand {
  /** Resolves with what was printed as soon as there is a line of it. */
  firstLine: Promise<string>
  printed: () => { out: string; log: string }
  stop: () => Promise<number>
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "atropos-run-api-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function start(
  workingDirectory: string,
  flags: readonly string[],
  environment: CommandContext["environment"] = {},
): RunningCommand {
  const abort = new AbortController()
  const { promise: firstLine, resolve } = Promise.withResolvers<string>()
  let out = ""
  let log = ""
  const code = runCommand(["run-api", "--port", "0", ...flags], {
    stdout: (text) => {
      out += text
      resolve(out)
    },
    stderr: (text) => void (log += text),
    signal: abort.signal,
    environment,
    workingDirectory,
  }).finally(() => resolve(out))
  const stop = (): Promise<number> => {
    abort.abort()
    return code
  }
  onTestFinished(async () => void (await stop()))
  return { firstLine, printed: () => ({ out, log }), stop }
}

interface Listening {
  address: string
  pid: number
  folder: string | null
  found: { step: string; queuedGroups: number; environments: number } | null
}

async function listening(command: RunningCommand): Promise<Listening> {
  return JSON.parse(await command.firstLine) as Listening
}

async function post(address: string, path: string, body: object): Promise<void> {
  const response = await fetch(address + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
}

const registration = {
  wandb_group: "g",
  wandb_project: "p",
  batch_size: 4,
  max_token_len: 64,
  checkpoint_dir: "",
  save_checkpoint_interval: 1,
  starting_step: 5,
  num_steps: 10,
}

describe("atropos run-api", () => {
  test("begins a run in a folder of its own and resumes it only when asked", async () => {
    const folder = await newFolder()
    const first = start(folder, ["--json"])
    const { address, pid, folder: run, found } = await listening(first)
    expect(pid).toBe(process.pid)
    expect(found).toBeNull()
    expect(run).toMatch(/\/runs\/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$/)
    await post(address, "/register", registration)
    await post(address, "/scored_data", { tokens: [[1]], masks: [[1]], scores: [1] })
    expect(await first.stop()).toBe(0)

    const second = start(folder, ["--json"])
    expect((await listening(second)).found).toBeNull()
    await second.stop()
    expect(await readdir(join(folder, "runs"))).toHaveLength(2)

    const third = start(folder, ["--json", "--data-dir", run ?? ""])
    expect((await listening(third)).found).toMatchObject({ step: "5", queuedGroups: 1, environments: 0 })
    expect(await third.stop()).toBe(0)
  })

  test("says for people where it listens, where the run is and how to resume it", async () => {
    const folder = await newFolder()
    const command = start(folder, ["--data-dir", "mine"])
    await command.firstLine
    await command.stop()
    expect(command.printed().out).toMatch(
      /^trajectory server: http:\/\/127\.0\.0\.1:\d+\nnew run in mine; resume it with: atropos run-api --data-dir mine\n$/,
    )
    const again = start(folder, ["--data-dir", "mine"])
    await again.firstLine
    await again.stop()
    expect(again.printed().out).toContain("resumed mine: no trainer yet, 0 groups queued, 0 environments")
  })

  test("says in a sentence that its folder can not be made", async () => {
    const folder = await newFolder()
    for (const place of ["/proc/atropos/run", "/dev/null/run"]) {
      const command = start(folder, ["--data-dir", place])
      expect(await command.stop()).toBe(2)
      expect(command.printed().log).toMatch(/^atropos: The folder .* can not be made .*--data-dir/)
    }
  })

  test("makes the folders above its own", async () => {
    const folder = await newFolder()
    const command = start(folder, ["--json", "--data-dir", "a/b/c"])
    expect((await listening(command)).folder).toBe(join(folder, "a/b/c"))
  })

  test("refuses a second server on one run", async () => {
    const folder = await newFolder()
    const first = start(folder, ["--json", "--data-dir", "run"])
    await listening(first)
    const second = start(folder, ["--data-dir", "run"])
    expect(await second.stop()).toBe(1)
    expect(second.printed().log).toMatch(/^atropos: /)
  })

  test("wants a token or --insecure on an address of the network", async () => {
    const folder = await newFolder()
    const open = start(folder, ["--host", "0.0.0.0", "--store", "memory"])
    expect(await open.stop()).toBe(2)
    expect(open.printed().log).toMatch(/set --token .* or allow that with --insecure/)
    const protectedByToken = start(folder, ["--host", "0.0.0.0", "--store", "memory", "--json"], {
      ATROPOS_TOKEN: "secret",
    })
    const { port } = new URL((await listening(protectedByToken)).address)
    expect((await fetch(`http://127.0.0.1:${port}/status`)).status).toBe(401)
    const known = { headers: { authorization: "Bearer secret" } }
    expect((await fetch(`http://127.0.0.1:${port}/status`, known)).status).toBe(200)
  })

  test("says in a sentence that a port is taken", async () => {
    const folder = await newFolder()
    const first = start(folder, ["--store", "memory", "--json"])
    const { port } = new URL((await listening(first)).address)
    const second = start(folder, ["--store", "memory", "--port", port])
    expect(await second.stop()).toBe(1)
    expect(second.printed().log).toContain(`atropos: Port ${port} on 127.0.0.1 is taken`)
  })

  test("passes its flags on to the server's bounds", async () => {
    const folder = await newFolder()
    const command = start(folder, ["--store", "memory", "--json", "--max_body", "100"])
    const { address } = await listening(command)
    const response = await fetch(`${address}/register`, { method: "POST", body: "x".repeat(200) })
    expect(response.status).toBe(413)
  })
})
