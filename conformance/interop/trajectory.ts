// Real Python peers against our trajectory server: atroposlib's own environment loop and its SFT tool, and the HTTP
// libraries that environments and trainers use. Needs the Python of `npm run interop`.
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"

import type { ScoredGroup } from "../../packages/atropos/src/protocol/messages.ts"
import { TrajectoryClient } from "../../packages/atropos/src/protocol/trajectory-client.ts"
import { openSqliteStore } from "../../packages/atropos/src/server/stores/sqlite/sqlite-store.ts"
import { createTrajectoryServer } from "../../packages/atropos/src/server/trajectory-server.ts"

const python = process.env["ATROPOS_PYTHON"] ?? "python3"
const here = fileURLToPath(new URL("trajectory/", import.meta.url))
/** Generous: the peers wait for each other, and machines are slow. */
const peerTimeoutMs = 120_000
const outcomes = { passed: 0, failed: 0 }

function check(what: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) {
    outcomes.passed += 1
    return
  }
  outcomes.failed += 1
  const brief = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 300)
  console.log(`failed: ${what}\n  expected ${brief(expected)}\n  received ${brief(actual)}`)
}

function start(
  args: readonly string[],
  input?: string,
): { child: ChildProcess; ended: Promise<[number | null, string]> } {
  // The stand-ins come first, so that nothing large has to be installed.
  const env = { ...process.env, PYTHONPATH: join(here, "stand-ins"), PYTHONWARNINGS: "ignore" }
  const child = spawn(python, args, { env, stdio: ["pipe", "pipe", "pipe"], timeout: peerTimeoutMs })
  child.stdin.end(input)
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve))
  const ended = Promise.all([exited, text(child.stdout), text(child.stderr)]).then(
    ([code, output, complaints]): [number | null, string] => [code, code === 0 ? output : complaints],
  )
  return { child, ended }
}

const folder = mkdtempSync(join(tmpdir(), "atropos-interop-"))
const token = "an interop token"
const server = createTrajectoryServer({
  store: await openSqliteStore({ directory: join(folder, "run") }),
  folder: join(folder, "run"),
  token,
})
const bareUrl = await server.listen({ host: "127.0.0.1", port: 0 })
const url = bareUrl.replace("//", `//x:${encodeURIComponent(token)}@`)
const client = new TrajectoryClient({ url })

const registration = {
  wandb_group: "",
  wandb_project: "",
  batch_size: 16,
  max_token_len: 9999,
  checkpoint_dir: "",
  save_checkpoint_interval: 0,
  starting_step: 0,
  num_steps: 100,
}

/** Each library pushes a group gzipped, and gets a batch that is stitched from that one and some of ours. */
async function httpLibraries(): Promise<void> {
  await client.register({ ...registration, batch_size: 16 })
  await client.batch()
  await client.registerEnvironment({ desired_name: "e", max_token_length: 9999, group_size: 4, weight: 1 })
  for (const library of ["requests", "aiohttp", "httpx"]) {
    const groups = [1, 2, 3, 4].map(groupOf)
    const theirs = groups.pop()
    for (const group of groups) await client.pushGroup(group)
    const input = JSON.stringify({ library, url, group: theirs })
    const [code, output] = await start([join(here, "clients.py")], input).ended
    check(`${library} ends well: ${output.slice(-500)}`, code, 0)
    if (code !== 0 || theirs === undefined) continue
    const came = JSON.parse(output) as Record<string, unknown>
    const sent = [...groups, theirs]
    check(
      `${library} reads GET /status-env with a body`,
      (came["status"] as { self_queue_size: number }).self_queue_size,
      3,
    )
    check(`${library} reads the answer to a gzipped push`, came["push"], { status: "received" })
    check(`${library} gets its batch gzipped`, came["encoding"], "gzip")
    check(
      `${library} reads the tokens`,
      came["tokens"],
      sent.map(({ tokens }) => digest(tokens)),
    )
    check(
      `${library} reads the messages`,
      came["messages"],
      sent.map(({ messages }) => digest(messages)),
    )
    check(
      `${library} reads the logprobs`,
      came["logprobs"],
      sent.map((group) => group.inference_logprobs),
    )
    check(
      `${library} reads scores as floats`,
      came["scores"],
      sent.map(() => Array(4).fill("float")),
    )
    check(`${library} finds all keys`, came["keys"], [14])
  }
}

/** atroposlib's own processes at both ends: they do the rest of the contract by themselves. */
async function environmentAndSftTool(): Promise<void> {
  const file = join(folder, "sft.jsonl")
  const wanted = ["--num-seqs-to-save", "40", "--group-size", "4", "--tasks-per-step", "2"]
  const tool = start(["-m", "atroposlib.cli.sft", file, "--api-url", url, "--save-messages", ...wanted])
  const environment = start([join(here, "environment.py"), url, "9"])
  const [code, output] = await environment.ended
  // Without an environment it would wait for ever.
  if (code !== 0) tool.child.kill()
  const [toolCode, toolOutput] = await tool.ended
  check(`the SFT tool ends well: ${toolOutput.slice(-500)}`, toolCode, 0)
  check(`the environment ends well: ${output.slice(-500)}`, code, 0)
  if (toolCode !== 0) return
  const rows = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { score: number; messages: { content: string }[] })
  check("the SFT tool saved as many sequences as it was to", rows.length, 40)
  check("all of them the good ones", [...new Set(rows.map(({ score }) => score))], [1])
  const items = rows.map(({ messages }) => Number(/^item (\d+) – ü$/.exec(messages[0]?.content ?? "")?.[1]))
  check("two of each group", items.length, 2 * new Set(items).size)
  check("the environment's name is known", (await client.environmentStatus(0)).registered, undefined)
}

function groupOf(id: number): ScoredGroup {
  const rows = [0, 1, 2, 3].map((row) =>
    Array.from({ length: 3000 }, (_, n) => (id * 7919 + row * 104_729 + n * 31) % 128_256),
  )
  return {
    tokens: rows,
    masks: rows.map((row) => row.map((value, n) => (n < 40 ? -100 : value))),
    scores: [1, -1, 0, 0.5],
    inference_logprobs: rows.map((row) => row.map((value, n) => (n < 40 ? 1 : -((value % 1000) + 1) / 977))),
    env_id: 0,
    messages: rows.map((_, row) => [{ role: "user", content: `Zeile ${row} – "ü" \u{1f600}\n` }]),
  }
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex")
}

try {
  await httpLibraries()
  await environmentAndSftTool()
} finally {
  await client.close()
  await server.close()
  rmSync(folder, { recursive: true })
}
console.log(`trajectory: ${outcomes.passed} passed, ${outcomes.failed} failed`)
process.exitCode = outcomes.failed > 0 ? 1 : 0
