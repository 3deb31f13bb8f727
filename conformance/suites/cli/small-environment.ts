// The environment with which the command-line vectors were recorded, in our words: sums of two numbers.
import { z } from "zod"

import { environmentConfig } from "../../../packages/atropos/src/environment/config/environment-config.ts"
import type { EnvironmentAbout, ServerDefaults } from "../../../packages/atropos/src/environment/environment-class.ts"
import { Environment } from "../../../packages/atropos/src/environment/environment.ts"
import type { Evaluation, EvaluationResult } from "../../../packages/atropos/src/environment/evaluate/evaluation.ts"
import type { TrajectoryGroup } from "../../../packages/atropos/src/environment/groups/trajectory-group.ts"
import type { GroupRun } from "../../../packages/atropos/src/environment/rollouts/group-run.ts"
import type { InferenceMessage } from "../../../packages/atropos/src/inference/inference-server.ts"
import type { Answer } from "../../../packages/atropos/src/inference/session/session.ts"

const smallConfig = environmentConfig.extend({
  mode: z.string().default("managed").describe("how the policy is asked"),
  variant: z.string().default("plain").describe("what the groups are like"),
  levels: z.array(z.int()).default([1, 2]).describe("a list"),
  note: z.string().nullable().default(null).describe("a text or nothing"),
  answerTokens: z.int().default(48).describe("longest answer"),
  evalItems: z.int().default(4).describe("items of an evaluation"),
  pause: z.number().default(0).describe("seconds"),
})

type SmallConfig = z.output<typeof smallConfig>

interface Sum {
  number: number
  a: number
  b: number
}

export const smallServer: ServerDefaults = {
  timeout: 60,
  num_requests_for_eval: 8,
  model_name: "stub-model",
  server_type: "vllm",
  tokenizer_name: "TOKENIZER",
  api_key: "x",
  base_url: "http://HOST/v1",
}

/** By the vectors' words for how the environment gives its servers. */
const serversBy: Readonly<Record<string, EnvironmentAbout["servers"]>> = {
  "a list of one server": [smallServer],
  "one server, not in a list": smallServer,
  "a list of two servers": [smallServer, { ...smallServer, base_url: "http://OTHER/v1" }],
  "no server, only shared settings": { model_name: "stub-model" },
}

export const knownVariants = [
  "plain",
  "messages",
  "images",
  "overrides",
  "list",
  "odd",
  "failing",
  "long",
  "no-more-items",
]

export function aboutSmall(servers = "a list of one server", named = true): EnvironmentAbout {
  const defaults = { group_size: 4, total_steps: 10, use_wandb: false }
  const given = serversBy[servers]
  if (given === undefined) throw new TypeError(`unknown environment_defaults ${JSON.stringify(servers)}`)
  return {
    name: "small",
    config: smallConfig,
    defaults: named ? { ...defaults, wandb_name: "small" } : defaults,
    servers: given,
  }
}

export class SmallEnvironment extends Environment<Sum, SmallConfig> {
  static readonly about = aboutSmall()
  #count = 0
  #right: number[] = []

  override nextItem(): Sum | undefined {
    if (this.config.variant === "no-more-items" && this.#count === 2) return undefined
    const number = this.#count++
    return { number, a: this.random.integer(1, 99), b: this.random.integer(1, 99) }
  }

  override async collectTrajectories(item: Sum, group: GroupRun<SmallConfig>): Promise<TrajectoryGroup[]> {
    const { variant } = this.config
    const count = variant === "odd" ? 3 - (item.number % 2) : group.groupSize
    const ended = await group.run(
      async (rollout) => {
        if (failsAt(variant, item.number)) throw new Error("rollout failed")
        const messages = ask(item)
        return { messages, answer: await rollout.session.chat(messages, { maxTokens: this.config.answerTokens }) }
      },
      { count },
    )
    const [scored] = group.score(ended, ({ messages, answer }, index) => {
      const right = isRight(item, answer)
      this.#right.push(right ? 1 : 0)
      const reward = right ? 1 : -1
      return {
        score: reward + index / 100,
        ...(variant === "images" ? { image: index === 0 ? "iVBORw0KGgo=" : null } : {}),
        ...(variant === "overrides" ? { overrides: { temperature: 0.7 } } : {}),
        ...(variant === "messages" ? { messages: [...messages, { ...answer.message, reward }] } : {}),
      }
    })
    if (scored === undefined) return []
    if (variant === "odd") return [{ ...scored, groupOverrides: { group_size: count } }]
    if (variant === "list") return [scored, scored]
    if (variant !== "overrides") return [scored]
    return [
      {
        ...scored,
        groupOverrides: { temperature: 0.9, sft: false },
        generationParams: { temperature: 1, top_p: 1 },
      },
    ]
  }

  override async evaluate(evaluation: Evaluation<SmallConfig>): Promise<EvaluationResult> {
    const items = Array.from({ length: this.config.evalItems }, (_, number) => ({ number, a: 9 + number, b: 3 }))
    const ended = await evaluation.run(items, async (item, { session }) => {
      const answer = await session.chat(ask(item), { temperature: 0, maxTokens: this.config.answerTokens })
      const gold = String(item.a + item.b)
      const correct = isRight(item, answer)
      return {
        messages: [...ask(item), answer.message],
        question: `${item.a} + ${item.b}?`,
        goldAnswer: gold,
        goldParsed: gold,
        modelParsed: lastNumber(answer.text),
        score: correct ? 1 : 0,
        correct,
        finishReason: answer.finishReason,
        responseAfterThink: answer.text,
      }
    })
    const samples = ended.flatMap((item) => (item.status === "done" ? [item.value] : []))
    return {
      metrics: {
        "eval/percent_correct": samples.filter(({ correct }) => correct).length / Math.max(1, samples.length),
        "eval/count": samples.length,
      },
      samples,
      generationParameters: { temperature: 0, maxTokens: this.config.answerTokens },
    }
  }

  override metrics(): Record<string, number> {
    if (this.#right.length === 0) return {}
    const share = this.#right.reduce((sum, right) => sum + right, 0) / this.#right.length
    this.#right = []
    return { "train/percent_correct": share }
  }
}

/** `failing`: the second item; `sometimes`: every third. */
function failsAt(variant: string, number: number): boolean {
  return variant === "failing" ? number === 1 : variant === "sometimes" && number % 3 === 1
}

function ask({ a, b }: Sum): InferenceMessage[] {
  return [
    { role: "system", content: "Answer with a number." },
    { role: "user", content: `${a} + ${b}?` },
  ]
}

function lastNumber(text: string): string | null {
  return text.match(/\d+/g)?.at(-1) ?? null
}

function isRight({ a, b }: Sum, answer: Answer): boolean {
  return lastNumber(answer.text) === String(a + b)
}
