import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

import { expect, onTestFinished, test, vi } from "vitest"

import { openServer } from "../../environment/serve/serve-fixture.ts"
import { createModelStub } from "../../inference/stub/model-stub.ts"
import { stubTokenizerFiles } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import type { CommandContext } from "../command.ts"
import { runCommand } from "../main.ts"

const library = new URL("../../index.ts", import.meta.url).href

/** A folder with an environment that scores by length, and what commands print there. */
function workplace(): { directory: string; context: CommandContext; out: () => string; log: () => string } {
  const directory = mkdtempSync(join(tmpdir(), "atropos-commands-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(
    join(directory, "lengths.ts"),
    `import { defineEnvironment, runIfMain } from ${JSON.stringify(library)}
const lengths = defineEnvironment({
  name: "lengths",
  defaults: { group_size: 2, steps_per_eval: 0 } as never,
  rows: [1, 2, 3, 4],
  prompt: (row) => "count " + row + ":",
  score: (_row, answer) => answer.tokenIds.length,
  evaluation: { rows: [1, 2] },
})
export default lengths
runIfMain(import.meta, lengths)
`,
  )
  const out: string[] = []
  const log: string[] = []
  const context: CommandContext = {
    stdout: (text) => void out.push(text),
    stderr: (text) => void log.push(text),
    signal: new AbortController().signal,
    environment: {},
    workingDirectory: directory,
  }
  return { directory, context, out: () => out.join(""), log: () => log.join("") }
}

test("serve reaches the server of rollout_server_url, logs there, and keeps its groups in a file", async () => {
  const server = await openServer()
  onTestFinished(() => server.close())
  await server.register({ batch_size: 4, num_steps: 3 })
  const { directory, context, out } = workplace()
  const argv = ["serve", "lengths.ts", "--testing", "--json", "--env.rollout_server_url", server.url]
  const flags = ["--env.total_steps", "3", "--env.data_path_to_save_groups", "kept.jsonl", "--track", "console"]
  const serving = runCommand([...argv, ...flags], context)
  const batches = await server.train(3)
  expect(await serving).toBe(0)
  const groups = readFileSync(join(directory, "kept.jsonl"), "utf8").trim().split("\n")
  expect(groups.length).toBeGreaterThanOrEqual(6)
  expect((JSON.parse(groups[0] ?? "") as { scores: number[] }).scores).toEqual(batches[0]?.scores[0])
  const events = out()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; end?: string })
  expect(events.at(-1)).toMatchObject({ event: "summary", end: "steps" })
  expect(events.some(({ event }) => event === "metrics")).toBe(true)
})

test("serve --testing sends groups of an environment that only its gold answer satisfies", async () => {
  const server = await openServer()
  onTestFinished(() => server.close())
  await server.register({ batch_size: 4, num_steps: 2 })
  const { directory, context, out } = workplace()
  writeFileSync(
    join(directory, "strict.ts"),
    `import { defineEnvironment } from ${JSON.stringify(library)}
export default defineEnvironment({
  name: "strict",
  defaults: { groupSize: 4 },
  rows: ["north", "south"],
  prompt: (row) => "say " + row + ":",
  score: (row, answer) => (answer.text === row ? 1 : 0),
  gold: (row) => row,
})
`,
  )
  const argv = ["serve", "strict.ts", "--testing", "--json", "--track", "none", "--env.total_steps", "2"]
  const serving = runCommand([...argv, "--env.rollout_server_url", server.url], context)
  const [batch] = await server.train(2, AbortSignal.timeout(20_000))
  expect(new Set(batch?.scores[0])).toEqual(new Set([0, 1]))
  expect(await serving).toBe(0)
  expect(out()).toContain('"end":"steps"')
})

test("serve logs and saves as the env flags say", async () => {
  const server = await openServer()
  onTestFinished(() => server.close())
  await server.register({ batch_size: 4, num_steps: 3 })
  const { directory, context, out } = workplace()
  const argv = [
    "serve",
    "lengths.ts",
    "--testing",
    "--json",
    "--env.rollout_server_url",
    server.url,
    "--env.total_steps",
    "3",
  ]
  const flags = {
    "--env.min_items_sent_before_logging": "1000",
    "--env.num_rollouts_to_keep": "2",
    "--env.num_rollouts_per_group_for_logging": "-1",
    "--env.include_messages": "true",
    "--env.data_path_to_save_groups": "kept.jsonl",
    "--env.wandb_name": "mine",
    "--track": "console,jsonl=log.jsonl",
  }
  const serving = runCommand([...argv, ...Object.entries(flags).flat()], context)
  await server.train(3)
  expect(await serving).toBe(0)
  // Too few groups for any entry but the last.
  expect(out().match(/"event":"metrics"/g)).toHaveLength(1)
  const log = JSON.parse(readFileSync(join(directory, "log.jsonl"), "utf8")) as {
    tables: { name: string; rows: unknown[] }[]
  }
  expect(log.tables).toMatchObject([{ name: "mine_0_train/rollouts" }])
  expect(log.tables[0]?.rows).toHaveLength(4)
  const [group] = readFileSync(join(directory, "kept.jsonl"), "utf8").split("\n")
  expect(JSON.parse(group ?? "")).toMatchObject({ messages: [[{ role: "user" }], [{ role: "user" }]] })
})

test("serve wants servers that tell token ids, and says what the server is; evaluate takes any", async () => {
  const stub = await createModelStub({ dialect: "vllm" })
  onTestFinished(() => stub.close())
  const { directory, context, log, out } = workplace()
  mkdirSync(join(directory, "tokenizer"))
  for (const [file, text] of Object.entries(stubTokenizerFiles)) {
    writeFileSync(join(directory, "tokenizer", file), text ?? "")
  }
  const flags = ["--openai.base_url", stub.baseUrl, "--env.tokenizer_name", join(directory, "tokenizer")]
  expect(await runCommand(["serve", "lengths.ts", ...flags], context)).toBe(2)
  expect(log()).toContain("it says that it is vllm: set --openai.server_type vllm")
  for (const [allowing, environment] of [
    [["--env.allow_inexact_tokens", "true"], {}],
    [[], { ATROPOS_ALLOW_DUMMY_MANAGED_SERVER: "1" }],
  ] as const) {
    const server = await openServer()
    onTestFinished(() => server.close())
    await server.register({ batch_size: 2, num_steps: 1 })
    const short = ["--env.max_token_length", "20", "--env.ensure_scores_are_not_same", "false"]
    const run = ["--env.rollout_server_url", server.url, "--env.total_steps", "1", "--track", "none", ...short]
    const serving = runCommand(["serve", "lengths.ts", ...flags, ...run, ...allowing], { ...context, environment })
    expect(await server.train(1, AbortSignal.timeout(20_000))).toHaveLength(1)
    expect(await serving).toBe(0)
  }
  const evaluation = ["evaluate", "lengths.ts", ...flags, "--env.max_token_length", "20"]
  expect([await runCommand(evaluation, context), log()]).toEqual([0, expect.not.stringContaining("failed")])
  expect(out()).toContain("|percent correct| ↑ |")
})

test("an inference server that is not there is waited for and told of once, with its address and the way out", async () => {
  const { directory, context } = workplace()
  mkdirSync(join(directory, "tokenizer"))
  for (const [file, text] of Object.entries(stubTokenizerFiles)) {
    writeFileSync(join(directory, "tokenizer", file), text ?? "")
  }
  const flags = ["--openai.base_url", "http://127.0.0.1:1/v1", "--openai.server_type", "vllm", "--track", "none"]
  const argv = ["lengths.ts", ...flags, "--env.tokenizer_name", join(directory, "tokenizer")]
  for (const [command, said, alsoWarned] of [
    ["process", /^stopped: 0 groups of 0 items, \d unfinished\nno group, so no file\n$/, /^$/],
    ["evaluate", /^$/, /^\S+ warn {2}stopped: 0 rollouts done, nothing measured\n$/],
  ] as const) {
    const stop = new AbortController()
    let log = ""
    let out = ""
    const stderr = (text: string): void => {
      log += text
      if (log.includes("--testing")) stop.abort()
    }
    const stdout = (text: string): void => void (out += text)
    expect(await runCommand([command, ...argv], { ...context, stdout, stderr, signal: stop.signal })).toBe(130)
    const [missing = "", ...rest] = log.split(/(?<=\n)/)
    expect(missing).toMatch(/127\.0\.0\.1:1\/v1 could not be reached.*--openai\.base_url.*atropos stub.*--testing/)
    expect(rest.join("")).toMatch(alsoWarned)
    expect(out).toMatch(said)
  }
  expect(readdirSync(join(directory, "data"))).toEqual([])
})

test("unknown keys of a YAML file are refused with the nearest, or passed over with a warning", async () => {
  const { directory, context, log } = workplace()
  writeFileSync(join(directory, "old.yaml"), "env:\n  group_sizes: 4\n  data_path_to_save_groups: g.jsonl\nwandb: {}\n")
  const argv = [
    "process",
    "lengths.ts",
    "--testing",
    "--config",
    "old.yaml",
    "--env.total_steps",
    "1",
    "--track",
    "none",
  ]
  expect(await runCommand(argv, context)).toBe(2)
  expect(log()).toMatch(/unknown key wandb|env\.group_sizes, did you mean group_size\?/)
  expect(await runCommand([...argv, "--allow-unknown"], context)).toBe(0)
  expect(log()).toContain("env.group_sizes, did you mean group_size?")
  for (const [line, said] of [
    ["group_size: 4", "unknown key group_size, did you mean env.group_size?"],
    ["model_name: m", "unknown key model_name, did you mean openai.model_name?"],
  ]) {
    writeFileSync(join(directory, "old.yaml"), `${line}\n`)
    expect(await runCommand(argv, context)).toBe(2)
    expect(log()).toContain(said)
  }
  expect(readFileSync(join(directory, "g.jsonl"), "utf8").trim().split("\n")).toHaveLength(1)
})

test("a YAML file may take over another mapping's keys", async () => {
  const { directory, context } = workplace()
  const yaml = `env: &short
  max_token_length: 20
openai:
  - &one
    base_url: http://a
    timeout: 7
  - <<: *one
    base_url: http://b
`
  writeFileSync(join(directory, "merged.yaml"), yaml)
  const argv = [
    "evaluate",
    "lengths.ts",
    "--testing",
    "--config",
    "merged.yaml",
    "--env.data_dir_to_save_evals",
    "evals",
  ]
  expect(await runCommand(argv, context)).toBe(0)
  const written = readFileSync(join(directory, "evals", "evaluate_config.yaml"), "utf8")
  expect(written.match(/base_url: http:\/\/[ab]|timeout: 7/g)).toEqual([
    "base_url: http://a",
    "timeout: 7",
    "base_url: http://b",
    "timeout: 7",
  ])
})

test("evaluate prints a table, and with --json the content of metrics.json", async () => {
  const { context, out } = workplace()
  const argv = ["evaluate", "lengths.ts", "--testing", "--env.max_token_length", "20"]
  expect(await runCommand(argv, context)).toBe(0)
  expect(out()).toContain("|lengths_eval|1      |none  |      |percent correct| ↑ |")
  const json = workplace()
  expect(await runCommand([...argv, "--json"], json.context)).toBe(0)
  expect(JSON.parse(json.out())).toMatchObject({ results: { "atropos|lengths_eval|0": { "eval/percent_correct": 1 } } })
})

test("evaluate of an environment without an evaluation says that and nothing else", async () => {
  const { directory, context, log } = workplace()
  writeFileSync(
    join(directory, "bare.ts"),
    `import { defineEnvironment } from ${JSON.stringify(library)}
export default defineEnvironment({ name: "bare", rows: [1], prompt: () => [], score: () => 0 })
`,
  )
  expect(await runCommand(["evaluate", "bare.ts", "--testing"], context)).toBe(2)
  expect(log()).toMatch(/^atropos: bare has no evaluation;[^\n]*\n$/)
})

test("evaluate writes its files to data_dir_to_save_evals", async () => {
  const { directory, context } = workplace()
  const flags = ["--env.max_token_length", "20", "--env.data_dir_to_save_evals", "evals"]
  expect(await runCommand(["evaluate", "lengths.ts", "--testing", ...flags], context)).toBe(0)
  const files = ["evaluate_config.yaml", "metrics.json", "samples.jsonl"]
  expect(readdirSync(join(directory, "evals")).toSorted()).toEqual(files)
})

test("log_level is the least level of what is told", async () => {
  const { context, log } = workplace()
  const levels = ["--env.max_token_length", "20", "--log_level"]
  expect(await runCommand(["evaluate", "lengths.ts", "--testing", ...levels, "error"], context)).toBe(0)
  expect(log()).toBe("")
  expect(await runCommand(["evaluate", "lengths.ts", "--testing", ...levels, "warn"], context)).toBe(0)
  expect(log()).toContain("the results are printed only")
})

test("progress comes as lines where there is no terminal, and not with --quiet", async () => {
  const { context, log } = workplace()
  // Ten seconds at each look.
  let seconds = 0
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (seconds += 10) * 1000)
  onTestFinished(() => clock.mockRestore())
  const argv = ["process", "lengths.ts", "--testing", "--env.total_steps", "2", "--track", "none"]
  expect(await runCommand([...argv, "--quiet"], context)).toBe(0)
  expect(log()).not.toContain("groups  ")
  expect(await runCommand(argv, context)).toBe(0)
  expect(log()).toMatch(/\d+ s {2}\d\/2 {2}groups {2}\d rollouts/)
})

test("names, modules and flags that are wrong are usage errors that say what is right", async () => {
  const { directory, context, log } = workplace()
  writeFileSync(join(directory, "empty.ts"), "export const nothing = 1\n")
  for (const [argv, said] of [
    [["serve"], "say which environment"],
    [["serve", "reverse_digit"], "did you mean reverse_digits?"],
    [["serve", "folder\\lengths.ts"], "folders are separated by / here"],
    [["serve", "empty.ts"], "exports no environment"],
    [["serve", "lengths.ts", "--env.group_sise", "2"], "did you mean --env.group_size?"],
    [["serve", "lengths.ts", "--group_size", "2"], "unknown flag --group_size, did you mean --env.group_size?"],
    [["serve", "lengths.ts", "--enw.group_size", "2"], "did you mean --env.…?"],
    [["serve", "lengths.ts", "--env.group_size", "two"], 'takes a whole number from 1, received "two"'],
    [["serve", "lengths.ts", "--env.group_size", "0"], 'takes a whole number from 1, received "0"'],
    [["serve", "lengths.ts", "--env.wandb_name", "-x"], "write --env.wandb_name=…"],
    [["serve", "lengths.ts", "--track", "wandbb", "--testing"], "unknown tracker wandbb"],
    [["serve", "lengths.ts", "more"], "unrecognized arguments: more"],
    [["serv", "lengths.ts"], "did you mean serve?"],
  ] as const) {
    expect([await runCommand(argv, context), argv]).toEqual([2, argv])
    expect(log()).toContain(said)
  }
})

test("a file that ends on runIfMain is a command by itself, and quiet when imported", async () => {
  const { directory } = workplace()
  const run = async (...argv: string[]): Promise<{ stdout: string; stderr: string; code: number }> =>
    promisify(execFile)(process.execPath, argv, { cwd: directory }).then(
      (output) => ({ ...output, code: 0 }),
      (error: unknown) => error as { stdout: string; stderr: string; code: number },
    )
  const processed = await run("lengths.ts", "process", "--testing", "--env.total_steps", "2", "--track", "none")
  expect(processed).toMatchObject({ code: 0, stdout: expect.stringContaining("2 groups of 2 items") as string })
  expect(await run("lengths.ts", "train")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unknown command") as string,
  })
  expect(await run("-e", "import('./lengths.ts').then(() => console.log('imported'))")).toMatchObject({
    stdout: "imported\n",
    code: 0,
  })
}, 60_000)
