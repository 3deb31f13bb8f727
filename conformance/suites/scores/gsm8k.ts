import gsm8kAxolotl from "../../../environments/gsm8k/axolotl.ts"
import gsm8k from "../../../environments/gsm8k/gsm8k.ts"
import { findDifference, singleTurnRowSchema, type SingleTurnRow } from "./row.ts"
import { collectScripted, evaluateScripted } from "./run-single-turn.ts"

const anyRow = { question: "q", answer: "x\n#### 12" }

/** What is wrong with our answer to a row of gsm8k, or undefined. */
export async function checkGsm8k(value: unknown): Promise<string | undefined> {
  const row = singleTurnRowSchema.parse(value)
  switch (row.kind) {
    case "reply":
      return checkReply(row)
    case "group":
      return checkGroup(row)
    case "eval":
      return checkEvaluation(row)
    case "request":
      return checkRequest(row)
  }
}

function environmentOf(row: SingleTurnRow): typeof gsm8k {
  return row.variant === "self-tokenising" ? gsm8kAxolotl : gsm8k
}

async function checkReply(row: SingleTurnRow): Promise<string | undefined> {
  if (row.reply === undefined) return "the row has no reply"
  const reply = { ...row.reply, prompt_tokens: 20, completion_tokens: 40 }
  const { group } = await collectScripted(environmentOf(row), row.config, row.item, [reply])
  return findDifference(row.expected["score"], group?.sequences[0]?.score, "score")
}

async function checkGroup(row: SingleTurnRow): Promise<string | undefined> {
  const { group, kept, metrics } = await collectScripted(environmentOf(row), row.config, row.item, row.rollouts ?? [])
  const buffer = row.expected["accuracy_buffer"] as number[]
  const mean = buffer.length === 0 ? undefined : buffer.reduce((sum, value) => sum + value, 0) / buffer.length
  const actual: Record<string, unknown> = {
    dropped: group === undefined,
    kept,
    scores: group?.sequences.map(({ score }) => score),
    trained_counts: group?.sequences.map(({ masks }) => masks.filter((mask) => mask !== -100).length),
  }
  for (const [key, value] of Object.entries(row.expected)) {
    if (key === "accuracy_buffer") continue
    if (!(key in actual)) return `the suite does not know the expected ${key}`
    const difference = findDifference(value, actual[key], key)
    if (difference !== undefined) return difference
  }
  return findDifference(mean, metrics["train/percent_correct"], "train/percent_correct")
}

async function checkEvaluation(row: SingleTurnRow): Promise<string | undefined> {
  if (row.reply === undefined) return "the row has no reply"
  const { result } = await evaluateScripted(environmentOf(row), row.config, row.item, row.reply)
  const sample = result?.samples?.[0]
  const actual: Record<string, unknown> = {
    score: sample?.score,
    correct: sample?.correct,
    gold_answer: sample?.goldAnswer,
    finish_reason: sample?.finishReason,
    response_after_think: sample?.responseAfterThink,
    roles: sample?.messages?.map(({ role }) => role),
  }
  for (const [key, value] of Object.entries(row.expected)) {
    if (!(key in actual)) return `the suite does not know the expected ${key}`
    const difference = findDifference(value, actual[key], key)
    if (difference !== undefined) return difference
  }
  return undefined
}

/** Rollouts ask one by one; `n` counts the answers of a group. */
async function checkRequest(row: SingleTurnRow): Promise<string | undefined> {
  const isEvaluation = row.expected["n"] === 1
  const item = row.item ?? anyRow
  const reply = { text: "x", finish_reason: "stop" as const }
  const size = Number(row.config["group_size"] ?? 1)
  const { sessions } = isEvaluation
    ? await evaluateScripted(environmentOf(row), row.config, item, reply)
    : await collectScripted(
        environmentOf(row),
        row.config,
        item,
        Array.from({ length: size }, () => reply),
      )
  const calls = sessions.flatMap((session) => session.calls)
  const [call] = calls
  if (call === undefined) return "no request was made"
  const config = { maxTokenLength: Number(row.config["max_token_length"] ?? Number.NaN) }
  const actual: Record<string, unknown> = {
    kind: call.kind,
    n: calls.length,
    // A call that names no limit has the configuration's.
    max_tokens: call.options.maxTokens ?? config.maxTokenLength,
    temperature: call.options.temperature ?? null,
    roles: call.messages.map(({ role }) => role),
    user: call.messages.find(({ role }) => role === "user")?.content,
  }
  for (const [key, value] of Object.entries(row.expected)) {
    if (!(key in actual)) return `the suite does not know the expected ${key}`
    const difference = findDifference(value, actual[key], key)
    if (difference !== undefined) return difference
  }
  return undefined
}
