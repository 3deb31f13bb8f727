import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"

import { environmentRows } from "atropos-rl"
import { createModelStub, openTrial, type ModelStub } from "atropos-rl/testing"

import { runOwnCommand } from "../../packages/atropos/src/cli/environment/main.ts"
import { openServer } from "../../packages/atropos/src/environment/serve/serve-fixture.ts"
import { publicData } from "../../conformance/runner/public-data.ts"
import gsm8kAxolotl from "./axolotl.ts"
import gsm8k, { goldAnswer, isRight, type Gsm8kRow } from "./gsm8k.ts"

const row: Gsm8kRow = { question: "How many are 5 and 7?", answer: "5 + 7 = <<5+7=12>>12\n#### 12" }
const right = "<think>Five and seven.</think> It is \\boxed{12}."
const wrong = "<think>Five and seven.</think> It is \\boxed{13}."

function sampledIn(order: readonly string[]): (call: { index: number }) => string {
  return ({ index }) => order[index] ?? ""
}

describe("scoring", () => {
  test("right replies score 1, wrong, malformed and empty-handed ones -1", async () => {
    const replies = [right, wrong, "It is 12, without a box.", "It is \\boxed{}, an empty box."]
    const trial = await openTrial(gsm8k, {
      answer: sampledIn(replies),
      config: { datasetName: "builtin", groupSize: replies.length },
    })
    const { groups } = await trial.collect(row)
    expect(groups[0]?.sequences.map(({ score }) => score)).toEqual([1, -1, -1, -1])
    expect(trial.environment.metrics()).toEqual({ "train/percent_correct": 0.25 })
  })

  test("a reply cut inside its box is wrong, one cut behind it is right", async () => {
    const long = `${right} ${"And so on, and so on. ".repeat(80)}`
    const trial = await openTrial(gsm8k, {
      answer: sampledIn([`${"Let me see. ".repeat(60)}\\boxed{12}`, long]),
      config: { datasetName: "builtin", groupSize: 2, maxTokenLength: 100 },
    })
    const { groups } = await trial.collect(row)
    expect(groups[0]?.sequences.map(({ score }) => score)).toEqual([-1, 1])
  })

  test("a reply of less than ten tokens is left out, so its group is too small to be sent", async () => {
    const trial = await openTrial(gsm8k, {
      answer: sampledIn([right, wrong, "12"]),
      config: { datasetName: "builtin", groupSize: 3 },
    })
    const { groups, dropped } = await trial.collect(row)
    expect(groups).toEqual([])
    expect(dropped[0]).toMatchObject({ reason: "size", detail: "2 sequences instead of 3" })
  })

  test("when all are right the longer ones lose, from half of the limit on", async () => {
    const trial = await openTrial(gsm8k, {
      answer: sampledIn([right, `${right} ${"Let me check that again. ".repeat(12)}`]),
      config: { datasetName: "builtin", groupSize: 2, maxTokenLength: 600 },
    })
    const { groups } = await trial.collect(row)
    const scores = groups[0]?.sequences.map(({ score }) => score) ?? []
    expect(scores[1]).toBeLessThan(scores[0] ?? 0)
  })

  test("a row whose gold answer is no formula makes no group", async () => {
    const trial = await openTrial(gsm8k, {
      answer: () => right,
      config: { datasetName: "builtin", groupSize: 2 },
    })
    const { groups, dropped } = await trial.collect({ question: "?", answer: "#### " })
    expect(groups).toEqual([])
    expect(dropped).toHaveLength(1)
    expect(trial.environment.metrics()).toEqual({})
  })
})

test("training asks at temperature 1 with the question as it is, evaluation at 0.6; the TRL variant leaves it open", async () => {
  const config = { datasetName: "builtin", groupSize: 2, maxTestRows: 1 }
  const trial = await openTrial(gsm8k, { answer: () => right, config })
  await trial.collect(row)
  await trial.evaluate()
  const asked = trial.policy.calls.map(({ split, sampling }) => [split, sampling.temperature, sampling.maxTokens])
  expect(asked).toEqual([
    ["train", 1, 2048],
    ["train", 1, 2048],
    ["eval", 0.6, 2048],
  ])
  expect(trial.policy.calls[0]?.prompt).toContain("How many are 5 and 7?")

  const variant = await openTrial(gsm8kAxolotl, { answer: () => right, config })
  await variant.collect(row)
  await variant.evaluate()
  expect(variant.policy.calls.map(({ sampling }) => sampling.temperature)).toEqual([undefined, undefined, 0])
})

test("an evaluation says of each row what was asked, wanted and read", async () => {
  const trial = await openTrial(gsm8k, {
    answer: () => "<think>hm</think> \\boxed{1{,}000}",
    config: { datasetName: "builtin", maxTestRows: 3 },
  })
  const result = await trial.evaluate()
  expect(result?.samples).toHaveLength(3)
  expect(result?.generationParameters).toEqual({ temperature: 0.6 })
  expect(result?.samples?.[0]).toMatchObject({
    question: expect.any(String),
    goldAnswer: expect.stringMatching(/^\d+$/),
    modelParsed: "1,000",
    responseAfterThink: " \\boxed{1{,}000}",
    finishReason: "stop",
  })
})

describe("on the stub, by its own command", () => {
  let stub: ModelStub
  let folder: string
  beforeAll(async () => {
    stub = await createModelStub()
    folder = mkdtempSync(join(tmpdir(), "gsm8k-"))
  })
  afterAll(async () => {
    await stub.close()
    rmSync(folder, { recursive: true })
  })

  async function run(
    command: string,
    flags: readonly string[],
    signal?: AbortSignal,
  ): Promise<{ code: number; printed: string }> {
    let printed = ""
    const code = await runOwnCommand(
      gsm8k,
      [
        command,
        "--testing",
        `--openai.base_url=${stub.baseUrl}`,
        "--env.dataset_name=builtin",
        "--env.group_size=2",
        ...flags,
      ],
      {
        stdout: (text) => (printed += text),
        stderr: (text) => (printed += text),
        signal: signal ?? new AbortController().signal,
        environment: {},
        workingDirectory: folder,
      },
    )
    return { code, printed }
  }

  test("process writes groups of the built-in pack", async () => {
    const file = join(folder, "groups.jsonl")
    const { code } = await run("process", ["--env.total_steps=2", `--env.data_path_to_save_groups=${file}`])
    expect(code).toBe(0)
    const groups = readFileSync(file, "utf8").trim().split("\n")
    const { scores } = JSON.parse(groups[0] ?? "") as { scores: number[] }
    expect(scores).toHaveLength(2)
    expect(new Set([1, -1, ...scores]).size).toBe(2)
  })

  test("process fills groups of the usual size although short answers are left out", async () => {
    const { code, printed } = await run("process", ["--env.group_size=8", "--env.total_steps=2"])
    expect([code, printed]).toEqual([0, expect.not.stringContaining("dropped")])
  })

  test("evaluate reports the share of right answers", async () => {
    const { code, printed } = await run("evaluate", ["--env.max_test_rows=4", `--env.data_dir_to_save_evals=${folder}`])
    expect(printed).toContain("percent correct")
    expect(code).toBe(0)
  })

  test("serve brings its groups to a trajectory server", async () => {
    const server = await openServer()
    onTestFinished(() => server.close())
    await server.register({ max_token_len: 4096 })
    const stop = new AbortController()
    const serving = run("serve", [`--env.rollout_server_url=${server.url}`], stop.signal)
    const [batch] = await server.train(1)
    stop.abort()
    expect(batch?.scores.map((scores) => scores.toSorted((a, b) => a - b))).toEqual(
      Array.from({ length: 4 }, () => [-1, 1]),
    )
    await serving
  })
})

const published = publicData("gsm8k-test.jsonl")

test.skipIf(published === undefined)(
  "all 1,319 real test rows know their answer in every notation (ATROPOS_DATA)",
  async () => {
    const config = {
      datasetName: published ?? "",
      datasetConfig: null,
      datasetRevision: null,
      datasetCache: null,
      trainSplit: "train",
      testSplit: "test",
      maxTrainRows: -1,
      maxTestRows: -1,
    }
    const rows = await (
      await environmentRows<Gsm8kRow>(config, "test", { pack: "gsm8k", columns: ["question", "answer"] })
    ).toArray()
    expect(rows).toHaveLength(1319)
    const grouped = (gold: string): string => Number(gold).toLocaleString("en-US")
    const rightForms: ((gold: string) => string)[] = [
      (gold) => `\\boxed{${gold}}`,
      (gold) => `\\boxed{${grouped(gold)}}`,
      (gold) => `\\boxed{${grouped(gold).replaceAll(",", "{,}")}}`,
      (gold) => `\\boxed{${grouped(gold).replaceAll(",", "\\,")}}`,
      (gold) => `\\boxed{\\$${gold}}`,
      (gold) => `\\boxed{$${gold}}`,
      (gold) => `\\boxed{\\$${grouped(gold)}.00}`,
      (gold) => `\\boxed{${gold}.0}`,
      (gold) => `\\boxed{${gold} \\text{ apples}}`,
      (gold) => `\\boxed{${gold} dollars}`,
      (gold) => `\\boxed{${gold}\\%}`,
      (gold) => `\\boxed{\\frac{${2 * Number(gold)}}{2}}`,
      (gold) => `\\boxed{${Number(gold) - 1}+1}`,
      (gold) => `\\boxed{x=${gold}}`,
      (gold) => `\\boxed{${gold}-1+1=${gold}}`,
      (gold) => `The answer is $${gold}$.`,
    ]
    const wrongForms: ((gold: string) => string)[] = [
      (gold) => `\\boxed{${Number(gold) + 1}}`,
      (gold) => `\\boxed{${gold === "0" ? "10" : `${gold}0`}}`,
      (gold) => `\\boxed{${gold === "0" ? "1" : -Number(gold)}}`,
      (gold) => `#### ${gold}`,
      (gold) => `The answer is ${gold}.`,
    ]
    const misjudged: string[] = []
    for (const sample of rows) {
      const gold = goldAnswer(sample)
      for (const [forms, expected] of [
        [rightForms, true],
        [wrongForms, false],
      ] as const) {
        for (const form of forms) {
          const reply = `<think>hm</think> ${form(gold)}`
          if (isRight(sample, reply) !== expected) misjudged.push(`${gold}: ${reply}`)
        }
      }
    }
    expect(misjudged).toEqual([])
  },
)
