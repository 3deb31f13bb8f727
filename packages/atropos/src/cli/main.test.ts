import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"

import { expect, onTestFinished, test } from "vitest"

import { loadTokenizer } from "../chat/tokenizers/load-tokenizer.ts"
import { createStubTokenizer } from "../inference/stub/tokenizer/stub-tokenizer.ts"
import { runCommand } from "./main.ts"
import { commandFile } from "./quickstart/command-file.ts"

async function run(...argv: string[]): Promise<[code: number, stdout: string, stderr: string]> {
  let stdout = ""
  let stderr = ""
  const code = await runCommand(argv, {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    signal: AbortSignal.abort(),
    environment: {},
    workingDirectory: process.cwd(),
  })
  return [code, stdout, stderr]
}

test("--version prints the package's version", async () => {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  const { version } = JSON.parse(manifest) as { version: string }
  expect(await run("--version")).toEqual([0, `${version}\n`, ""])
})

test("an argument that a command does not take is refused, instead of starting without it", async () => {
  expect(await run("stub", "9002")).toEqual([
    2,
    "",
    'atropos: stub takes flags only, received "9002" as well; see atropos stub --help\n',
  ])
  expect(await run("run-api", "8001")).toMatchObject([2, "", expect.stringContaining('received "8001"')])
  expect(await run("init", "one", "two")).toMatchObject([
    2,
    "",
    expect.stringContaining('takes <name>, received "two"'),
  ])
})

test("help of a command without flags speaks of none", async () => {
  expect(await run("init", "--help")).toEqual([
    0,
    "atropos init <name>\n\nWrite a new environment with a passing test\n",
    "",
  ])
})

test("a mistyped command gets the nearest one", async () => {
  expect(await run("serv")).toMatchObject([2, "", expect.stringContaining("did you mean serve?")])
})

test("a stop that comes twice at once, as from a terminal and npm, ends a command in order", async () => {
  const child = spawn(process.execPath, [commandFile(), "stub", "--port", "0"], { cwd: newFolder() })
  onTestFinished(() => void child.kill("SIGKILL"))
  await Promise.race([once(child.stdout, "data"), once(child, "exit")])
  child.kill("SIGINT")
  child.kill("SIGTERM")
  expect(await once(child, "exit")).toEqual([0, null])
})

test("the same stop that comes again when a command has done its work does not kill it", async () => {
  const child = spawn(process.execPath, [commandFile(), "stub", "--port", "0"], { cwd: newFolder() })
  onTestFinished(() => void child.kill("SIGKILL"))
  const [line] = (await once(child.stdout, "data")) as [Buffer]
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(line.toString())?.[1])
  const connection = connect(port, "127.0.0.1")
  await once(connection, "connect")
  const exit = once(child, "exit")
  child.kill("SIGINT")
  // The stub has let go of its connections: it is about to end.
  await once(connection.resume(), "close")
  child.kill("SIGTERM")
  expect(await exit).toEqual([0, null])
})

test.each(["run-api", "stub", "policy"])(
  "%s says in a sentence that its port is taken",
  async (command) => {
    const other = createServer().listen(0, "127.0.0.1")
    onTestFinished(() => void other.close())
    await once(other, "listening")
    const { port } = other.address() as AddressInfo
    const child = spawn(process.execPath, [commandFile(), command, "--port", String(port)], { cwd: newFolder() })
    onTestFinished(() => void child.kill("SIGKILL"))
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")])
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^atropos: Port ${port} on 127.0.0.1 is taken.*\n$`)),
    ])
  },
  30_000,
)

test("the stub writes the tokenizer that environments on it need, and says where", async () => {
  const folder = newFolder()
  const [code, out] = await run("stub", "--port", "0", "--tokenizer-dir", folder)
  expect([code, out]).toEqual([0, expect.stringContaining(`tokenizer: ${folder}\n`)])
  const tokenizer = await loadTokenizer(folder)
  expect(tokenizer.encode("six times seven")).toEqual(createStubTokenizer().encode("six times seven"))
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "atropos-command-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
