import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, onTestFinished, test } from "vitest"

import type { Session, SessionSequence } from "../../inference/session/session.ts"
import type { EndedRollout } from "../rollouts/run-rollout.ts"
import type { RolloutResult } from "../rollouts/rollout.ts"
import { checkGroup } from "./check-group.ts"
import { gatherGroups } from "./gather-groups.ts"
import { GroupsFile } from "./groups-file.ts"
import { toWireGroup } from "./to-wire.ts"
import type { ScoredSequence, TrajectoryGroup } from "./trajectory-group.ts"

/** A sequence of two prompt tokens and one sampled for each of `answers`' tokens; answers follow each other. */
function sequence(answers: number[][], change: Partial<SessionSequence> = {}): SessionSequence {
  const sampled = answers.flat()
  let at = 2
  return {
    tokens: [90, 91, ...sampled],
    masks: [-100, -100, ...sampled],
    logprobs: [1, 1, ...sampled.map(() => -0.5)],
    answers: answers.map((ids, answer) => ({ answer, start: at, end: (at += ids.length) })),
    versions: [{ version: 3, start: 2, end: at }],
    sampledWith: { temperature: 1, topP: 1, topK: 0, logprobsMode: "raw" },
    messages: [{ role: "user", content: "q" }],
    finishReason: "stop",
    exact: true,
    ...change,
  }
}

function session(...sequences: SessionSequence[]): Session {
  const never = async (): Promise<never> => Promise.reject(new Error())
  const noStream = (): never => {
    throw new Error()
  }
  return {
    exact: true,
    counts: { calls: 0, extends: 0, fidelity: {}, branches: 0, reasons: {} },
    chat: never,
    chatChoices: never,
    complete: never,
    completeChoices: never,
    chatStream: noStream,
    completeStream: noStream,
    sequences: () => sequences,
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}

function done(value: RolloutResult, sessions: Record<string, Session>, index = 0): EndedRollout<RolloutResult> {
  return { status: "done", index, value, sessions: new Map(Object.entries(sessions)), seconds: 1 }
}

const gather = (rollouts: EndedRollout<RolloutResult>[]): TrajectoryGroup[] =>
  gatherGroups(rollouts, (value) => value as RolloutResult)

test("the policy's sessions are one group, each further agent's another", () => {
  const rollouts = [0, 1].map((index) =>
    done(
      { score: index, agents: { buyer: { score: 10 + index } } },
      { policy: session(sequence([[1]])), buyer: session(sequence([[2]])), watcher: session(sequence([[3]])) },
      index,
    ),
  )
  const groups = gather(rollouts)
  expect(groups.map(({ sequences }) => sequences.map(({ score }) => score))).toEqual([
    [0, 1],
    [10, 11],
  ])
  expect(groups.map(({ groupOverrides }) => groupOverrides)).toEqual([undefined, undefined])
})

test("a session that branched brings all its sequences, and the group says its size", () => {
  const branched = done({ score: 1 }, { policy: session(sequence([[1]]), sequence([[2]])) })
  const plain = done({ score: 0 }, { policy: session(sequence([[3]])) })
  const [group] = gather([branched, plain])
  expect(group?.sequences.map(({ score }) => score)).toEqual([1, 1, 0])
  expect(group?.groupOverrides).toEqual({ group_size: 3 })
})

test("with a failed rollout a branched group stays short, so that it is found", () => {
  const failed: EndedRollout<RolloutResult> = {
    status: "failed",
    index: 1,
    failure: { boundary: "environment", cause: new Error("x"), retryable: false },
    seconds: 1,
  }
  const [group] = gather([done({ score: 1 }, { policy: session(sequence([[1]]), sequence([[2]])) }), failed])
  expect(group?.groupOverrides).toBeUndefined()
})

test("advantages of steps are spread over the tokens of each answer, and zero elsewhere", () => {
  const two = sequence([[1, 2], [3]])
  // The second answer is trained in another sequence.
  const masked = { ...two, masks: [-100, -100, 1, 2, -100] }
  const [group] = gather([done({ score: 1, advantages: [0.5, -2] }, { policy: session(two, masked) })])
  expect(group?.sequences.map(({ advantages }) => advantages)).toEqual([
    [0, 0, 0.5, 0.5, -2],
    [0, 0, 0.5, 0.5, 0],
  ])
})

const limits = { groupSize: 2, ensureScoresAreNotSame: true, allowInexactTokens: false, maxTokenLen: 10 }
const scored = (score: number, change: Partial<ScoredSequence> = {}): ScoredSequence => ({
  tokens: [1, 2],
  masks: [-100, 2],
  logprobs: [1, -1],
  score,
  ...change,
})

test("a group is refused with the reason that the trainer would have failed on", () => {
  const reason = (group: TrajectoryGroup, change = {}) => checkGroup(group, { ...limits, ...change })?.reason
  expect(reason({ sequences: [scored(0), scored(1)] })).toBeUndefined()
  expect(reason({ sequences: [] })).toBe("empty")
  expect(reason({ sequences: [scored(0)] })).toBe("size")
  expect(reason({ sequences: [scored(0)], groupOverrides: { group_size: 1 } })).toBeUndefined()
  expect(reason({ sequences: [scored(1), scored(1)] })).toBe("equal-scores")
  expect(reason({ sequences: [scored(1), scored(1)] }, { ensureScoresAreNotSame: false })).toBeUndefined()
  expect(reason({ sequences: [scored(1)] }, { groupSize: 1 })).toBeUndefined()
  expect(reason({ sequences: [scored(0), scored(Number.NaN)] })).toBe("malformed")
  expect(reason({ sequences: [scored(0), scored(1, { masks: [2] })] })).toBe("malformed")
  expect(reason({ sequences: [scored(0), scored(1, { advantages: [1] })] })).toBe("malformed")
  const long = Array.from({ length: 10 }, () => 1)
  const longest = scored(1, { tokens: long, masks: long, logprobs: long })
  expect(reason({ sequences: [scored(0), longest] })).toBe("length")
  expect(reason({ sequences: [scored(0), longest] }, { maxTokenLen: 11 })).toBeUndefined()
  expect(reason({ sequences: [scored(0), longest] }, { maxTokenLen: -1 })).toBeUndefined()
})

test("a group with a sequence that is not exact is refused, unless it is allowed", () => {
  const guessed = sequence([[1]], { exact: false, logprobs: undefined })
  const [group = { sequences: [] }] = gather([
    done({ score: 0 }, { policy: session(sequence([[1]])) }, 0),
    done({ score: 1 }, { policy: session(guessed) }, 1),
  ])
  expect(checkGroup(group, limits)).toMatchObject({
    reason: "inexact-tokens",
    detail: expect.stringMatching(/^1 of 2 sequences .*--env\.allow_inexact_tokens true$/) as string,
  })
  expect(checkGroup(group, { ...limits, allowInexactTokens: true })).toBeUndefined()
})

const tokenizer = { decode: (ids: readonly number[]) => ids.join(" ") }

test("goes to the wire with the keys that its sequences have", () => {
  const group = {
    sequences: [
      scored(1, { overrides: { temperature: 0.7 }, versions: [{ version: 4, start: 1, end: 2, label: "step-4" }] }),
      scored(0, { image: "data" }),
    ],
    groupOverrides: { sft: true },
  }
  expect(toWireGroup(group, { includeMessages: false, tokenizer, environmentId: 7 })).toEqual({
    tokens: [
      [1, 2],
      [1, 2],
    ],
    masks: [
      [-100, 2],
      [-100, 2],
    ],
    scores: [1, 0],
    inference_logprobs: [
      [1, -1],
      [1, -1],
    ],
    overrides: [{ temperature: 0.7 }, {}],
    images: [null, "data"],
    generation_params: { policy_versions: [[{ version: 4, start: 1, end: 2 }], []] },
    group_overrides: { sft: true },
    env_id: 7,
  })
})

test("how it was sampled stands in generation_params as far as the sequences agree", () => {
  const sampledWith = { temperature: 1, topP: 0.9, topK: 0, logprobsMode: "raw" as const }
  const sequences = [scored(1, { sampledWith }), scored(0, { sampledWith: { ...sampledWith, topP: 0.5 } })]
  expect(toWireGroup({ sequences }, { includeMessages: false, tokenizer }).generation_params).toEqual({
    temperature: 1,
    top_k: 0,
    logprobs_mode: "raw",
  })
})

test("include_messages sends the conversation, or the text as one user message; given messages always go", () => {
  const sequences = [
    scored(1, { conversation: [{ role: "user", content: "q" }] }),
    scored(0),
    scored(0, { messages: [{ role: "user", content: "own", reward: 1 }] }),
  ]
  expect(toWireGroup({ sequences }, { includeMessages: true, tokenizer }).messages).toEqual([
    [{ role: "user", content: "q" }],
    [{ role: "user", content: "1 2" }],
    [{ role: "user", content: "own", reward: 1 }],
  ])
  expect(toWireGroup({ sequences }, { includeMessages: false, tokenizer }).messages).toEqual([
    [],
    [],
    [{ role: "user", content: "own", reward: 1 }],
  ])
  expect(toWireGroup({ sequences: [scored(1)] }, { includeMessages: false, tokenizer }).messages).toBeUndefined()
})

test("a groups file without a group is removed at its end", async () => {
  const directory = mkdtempSync(join(tmpdir(), "atropos-groups-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = await GroupsFile.create(join(directory, "groups.jsonl"))
  expect(readdirSync(directory)).toEqual(["groups.jsonl"])
  await file.close()
  expect(readdirSync(directory)).toEqual([])
})

test("a groups file keeps what is there, takes the next free name, and holds whole lines in order", async () => {
  const directory = mkdtempSync(join(tmpdir(), "atropos-groups-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, "deep", "groups.jsonl")
  for (const name of ["groups.jsonl", "groups_1.jsonl", "groups_2.jsonl"]) {
    const file = await GroupsFile.create(path)
    expect(file.path).toBe(join(directory, "deep", name))
    const groups = [1, 2, 3].map((score) =>
      toWireGroup({ sequences: [scored(score)] }, { includeMessages: false, tokenizer, environmentId: 1 }),
    )
    await Promise.all(groups.map((group) => file.write(group)))
    await file.close()
    const lines = readFileSync(file.path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.map(({ scores }) => scores)).toEqual([[1], [2], [3]])
    expect(lines[0]).not.toHaveProperty("env_id")
    expect(lines[0]).toMatchObject({ ref_logprobs: null, overrides: null, group_overrides: null })
  }
})
