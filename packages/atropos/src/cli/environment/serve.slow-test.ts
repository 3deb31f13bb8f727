// Real processes, killed in the middle: the trajectory server, the model stub and the environment.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, expect, test } from "vitest"

import { createStubTokenizer, stubTokenizerFiles } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"

const command = new URL("../../../bin/atropos.js", import.meta.url).pathname
const library = new URL("../../index.ts", import.meta.url).href
const items = 1100
// One group a batch, so that no group is left over at the end.
const batchSize = 2

const running = new Set<ChildProcess>()
let directory: string | undefined
afterEach(() => {
  for (const child of running) child.kill("SIGKILL")
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
})

/** A part as a process of its own; what it prints is kept for the failure's message. */
class Part {
  readonly child: ChildProcess
  readonly lines: string[] = []

  constructor(...argv: string[]) {
    this.child = spawn(process.execPath, [command, ...argv], { cwd: directory, stdio: ["ignore", "pipe", "pipe"] })
    running.add(this.child)
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (data: Buffer) => this.lines.push(data.toString()))
    }
    this.child.once("exit", () => running.delete(this.child))
  }

  async kill(): Promise<void> {
    const gone = once(this.child, "exit")
    this.child.kill("SIGKILL")
    await gone
  }

  get output(): string {
    return this.lines.join("")
  }
}

async function freePort(): Promise<string> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return String(port)
}

function flags(options: { groupsFile: string; serverPort: string; stubPort: string }): string[] {
  const values = {
    "--track": "none",
    "--env.rollout_server_url": `http://127.0.0.1:${options.serverPort}`,
    "--env.tokenizer_name": "tokenizer",
    "--env.group_size": 2,
    "--env.max_token_length": 20,
    "--env.total_steps": 1_000_000,
    "--env.max_batches_offpolicy": 60,
    "--env.max_num_workers": 24,
    "--env.seed": 1,
    "--env.ensure_scores_are_not_same": false,
    "--env.data_path_to_save_groups": options.groupsFile,
    "--openai.server_type": "vllm",
    "--openai.base_url": `http://127.0.0.1:${options.stubPort}/v1`,
  }
  return Object.entries(values).flatMap(([flag, value]) => [flag, String(value)])
}

test("1,000 steps with every part killed in the middle lose no acknowledged group and no item", async () => {
  directory = mkdtempSync(join(tmpdir(), "atropos-kills-"))
  const place = directory
  mkdirSync(join(place, "tokenizer"))
  for (const [file, text] of Object.entries(stubTokenizerFiles)) {
    writeFileSync(join(place, "tokenizer", file), text ?? "")
  }
  writeFileSync(
    join(place, "numbered.ts"),
    `import { defineEnvironment } from ${JSON.stringify(library)}
export default defineEnvironment({
  name: "numbered",
  rows: Array.from({ length: ${items} }, (_, index) => index),
  shuffle: false,
  epochs: 1,
  prompt: (row) => "item " + row + ":",
  score: (_row, answer) => answer.tokenIds.length,
})
`,
  )
  const serverPort = await freePort()
  const stubPort = await freePort()
  const startServer = (): Part => new Part("run-api", "--port", serverPort, "--data-dir", "run", "--log-level", "warn")
  const startStub = (): Part => new Part("stub", "--port", stubPort, "--mean-tokens", "6")
  const startEnvironment = (groupsFile: string): Part =>
    new Part("serve", "numbered.ts", "--json", ...flags({ groupsFile, serverPort, stubPort }))
  let server = startServer()
  let stub = startStub()
  let environment = startEnvironment("first.jsonl")
  const client = new TrajectoryClient({ url: `http://127.0.0.1:${serverPort}` })
  const untilItWorks = async <Value>(call: () => Promise<Value>): Promise<Value> => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await call()
      } catch (error) {
        if (attempt > 200) throw error
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }
  await untilItWorks(() =>
    client.register({
      wandb_group: "g",
      wandb_project: "p",
      batch_size: batchSize,
      max_token_len: 128,
      checkpoint_dir: join(place, "checkpoints"),
      save_checkpoint_interval: 20,
      starting_step: 0,
      num_steps: 1_000_000,
    }),
  )

  const tokenizer = createStubTokenizer()
  const delivered = new Set<string>()
  const seen = new Set<number>()
  let steps = 0
  const kills = new Map<number, () => Promise<void>>([
    [
      200,
      async () => {
        await server.kill()
        server = startServer()
      },
    ],
    [
      400,
      async () => {
        await stub.kill()
        // Long enough for requests to fail and for servers to be struck off.
        await new Promise((resolve) => setTimeout(resolve, 3000))
        stub = startStub()
      },
    ],
    [
      600,
      async () => {
        await environment.kill()
        environment = startEnvironment("second.jsonl")
      },
    ],
    [
      750,
      async () => {
        await server.kill()
        server = startServer()
      },
    ],
  ])
  let ended = false
  while (!ended) {
    const { batch } = await untilItWorks(() => client.batch({ waitSeconds: 1 }))
    if (batch === null) {
      // The environment has ended and its queue is empty.
      ended = environment.child.exitCode !== null
      continue
    }
    for (const group of batch) {
      delivered.add(JSON.stringify(group.tokens))
      for (const tokens of group.tokens) {
        const number = /^item (\d+):/.exec(tokenizer.decode(tokens))?.[1]
        if (number !== undefined) seen.add(Number(number))
      }
    }
    steps += 1
    const kill = kills.get(steps)
    kills.delete(steps)
    await kill?.()
  }
  await client.close()
  expect(environment.child.exitCode, environment.output).toBe(0)
  expect(kills.size).toBe(0)
  expect(steps).toBeGreaterThanOrEqual(1000)
  const missing = Array.from({ length: items }, (_, index) => index).filter((index) => !seen.has(index))
  expect(missing, environment.output).toEqual([])
  for (const file of ["first.jsonl", "second.jsonl"]) {
    const acknowledged = readFileSync(join(place, file), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.stringify((JSON.parse(line) as { tokens: number[][] }).tokens))
    expect(acknowledged.length).toBeGreaterThan(200)
    expect(acknowledged.filter((tokens) => !delivered.has(tokens))).toEqual([])
  }
  expect(environment.output).toContain("resumed from")
  expect(environment.output).toContain('"end":"exhausted"')
})
