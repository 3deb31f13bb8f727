import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

import { expect, onTestFinished, test } from "vitest"

import type { CommandContext } from "./command.ts"
import { runCommand } from "./main.ts"

const modules = new URL("../../../../node_modules", import.meta.url).pathname

function workplace(): { directory: string; context: CommandContext; out: () => string; log: () => string } {
  const directory = mkdtempSync(join(tmpdir(), "atropos-init-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  symlinkSync(modules, join(directory, "node_modules"))
  const out: string[] = []
  const log: string[] = []
  return {
    directory,
    context: {
      stdout: (text) => void out.push(text),
      stderr: (text) => void log.push(text),
      signal: new AbortController().signal,
      environment: {},
      workingDirectory: directory,
    },
    out: () => out.join(""),
    log: () => log.join(""),
  }
}

test("what init writes passes its own test and the check, and can be processed", async () => {
  const { directory, context, out, log } = workplace()
  expect(await runCommand(["init", "MyFirst env"], context)).toBe(0)
  const folder = join(directory, "my-first-env")
  expect(readdirSync(folder).toSorted()).toEqual([
    "README.md",
    "my-first-env.test.ts",
    "my-first-env.ts",
    "package.json",
  ])
  expect(out()).toContain("npx node --test my-first-env/my-first-env.test.ts")
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--test", "--test-reporter", "tap", "my-first-env/my-first-env.test.ts"],
    { cwd: directory, env: { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: undefined } },
  )
  expect(stdout).toContain("# pass 3")
  expect(stdout).toContain("# fail 0")
  expect(await runCommand(["check", "my-first-env"], context)).toBe(0)
  expect(out()).not.toMatch(/[✗–] /)
  const argv = ["process", "my-first-env", "--testing", "--env.total_steps", "2", "--track", "none"]
  expect([await runCommand(argv, context), log()]).toEqual([0, ""])
  expect(
    readFileSync(join(directory, "data", "my_first_env.jsonl"), "utf8")
      .trim()
      .split("\n"),
  ).toHaveLength(2)
}, 60_000)

test("the commands that init names can be pasted also where a folder has a space in its name", async () => {
  const { directory, context, out } = workplace()
  mkdirSync(join(directory, "my work"))
  expect(await runCommand(["init", "my work/my-env"], context)).toBe(0)
  expect(out()).toContain('npx node --test "my work/my-env/my-env.test.ts"\n')
  expect(out()).toContain('npx atropos serve "my work/my-env" --testing\n')
})

test("init writes over nothing, and refuses what is no name", async () => {
  const { directory, context, log } = workplace()
  mkdirSync(join(directory, "mine"))
  writeFileSync(join(directory, "mine", "notes.txt"), "keep")
  expect(await runCommand(["init", "mine"], context)).toBe(2)
  expect(readdirSync(join(directory, "mine"))).toEqual(["notes.txt"])
  expect(await runCommand(["init", "9lives"], context)).toBe(2)
  expect(await runCommand(["init"], context)).toBe(2)
  expect(log()).toMatch(/exists and is not empty[^]*is no name[^]*say one name/)
})
