import type { z } from "zod"

import type { InferenceMessage } from "../inference/inference-server.ts"
import type { Answer, CallOptions, Session } from "../inference/session/session.ts"
import { type EnvironmentConfig, environmentConfig } from "./config/environment-config.ts"
import type { EnvironmentClass, ServerDefaults } from "./environment-class.ts"
import { Environment, type EnvironmentContext } from "./environment.ts"
import type { TrajectoryGroup } from "./groups/trajectory-group.ts"
import type { Evaluation, EvaluationResult, EvaluationSample } from "./evaluate/evaluation.ts"
import { summariseSamples } from "./evaluate/summarise-samples.ts"
import { createRandom } from "./random.ts"
import { within } from "./rollouts/rollout-failure.ts"
import type { Rollout, RolloutResult } from "./rollouts/rollout.ts"
import { RowWalk, type Rows } from "./row-walk.ts"

type Sampling = Omit<CallOptions, "signal" | "tools">
type Given<Row, Context> = Rows<Row> | ((context: Context) => Rows<Row> | Promise<Rows<Row>>)
type Scored = number | RolloutResult | undefined

/** An environment in its short form. `Row` is what an item is, `Own` the configuration beside the base fields. */
export interface EnvironmentDefinition<Row, Own extends object = object> {
  /** In snake_case. */
  name: string
  description?: string
  /** Configuration of its own; each field has a default and a description. */
  config?: z.ZodObject & z.ZodType<Own>
  /** Its own defaults for any field of the configuration. */
  defaults?: Partial<EnvironmentConfig & Own>
  /** Its default inference server, or several. */
  servers?: ServerDefaults | readonly ServerDefaults[]
  /** Inference servers beside the policy, with their defaults: `{ judge: { modelName: "…" } }` makes `--judge.*`. */
  helpers?: Readonly<Record<string, ServerDefaults | readonly ServerDefaults[]>>
  /** Where items come from. An array is shuffled and walked through over and over; others end when they end. */
  rows: Given<Row, EnvironmentContext<EnvironmentConfig & Own>>
  /** @default true */
  shuffle?: boolean
  /** How often an array is walked through. @default Infinity */
  epochs?: number
  /** What the policy is asked: a conversation, or a raw text to continue. */
  prompt?: (row: Row, rollout: Rollout<EnvironmentConfig & Own>) => string | readonly InferenceMessage[]
  /** Sampling in training. @default temperature 1 */
  sampling?: Sampling
  /** Scores an answer; undefined leaves the rollout out of its group. */
  score?: (row: Row, answer: Answer, rollout: Rollout<EnvironmentConfig & Own>) => Scored | Promise<Scored>
  /** Rollouts with fewer trained tokens than this are left out of their group. @default 0 */
  minTrainedTokens?: number
  /** Looks at a scored group before it is checked and sent; undefined drops it. */
  postprocess?: (
    group: TrajectoryGroup,
    row: Row,
    context: { config: EnvironmentConfig & Own },
  ) => TrajectoryGroup | undefined
  /** A whole rollout, in place of `prompt` and `score`. */
  rollout?: (row: Row, rollout: Rollout<EnvironmentConfig & Own>) => Promise<RolloutResult | undefined>
  /** What a perfect policy would answer, for `atropos check` and `--testing`. */
  gold?: (row: Row, call: { turn: number; prompt: string }) => string
  /** Rows for tests and `atropos check`, there without a network. */
  examples?: readonly Row[]
  evaluation?: {
    rows: Given<Row, EnvironmentContext<EnvironmentConfig & Own>>
    /** @default temperature 0 */
    sampling?: Sampling
    /** Whether a result counts as right. @default a score of 1 and more */
    correct?: (result: RolloutResult) => boolean
    /** What `samples.jsonl` says of an item beside messages and score. */
    sample?: (row: Row, answer: Answer | undefined, result: RolloutResult) => EvaluationSample
  }
}

/** Makes an environment of a definition; the result is a class like any other environment. */
export function defineEnvironment<Row, Own extends object = object>(
  definition: EnvironmentDefinition<Row, Own>,
): EnvironmentClass<Row, EnvironmentConfig & Own> {
  type Config = EnvironmentConfig & Own
  if (definition.rollout === undefined && (definition.prompt === undefined || definition.score === undefined)) {
    throw new TypeError(`${definition.name}: give either prompt and score, or rollout`)
  }

  return class extends Environment<Row, Config> {
    static readonly about = {
      name: definition.name,
      config: definition.config === undefined ? environmentConfig : environmentConfig.extend(definition.config.shape),
      ...(definition.description === undefined ? {} : { description: definition.description }),
      ...(definition.defaults === undefined ? {} : { defaults: definition.defaults }),
      ...(definition.servers === undefined ? {} : { servers: definition.servers }),
      ...(definition.helpers === undefined ? {} : { helpers: definition.helpers }),
    }

    readonly #context: EnvironmentContext<Config>
    #walk: RowWalk<Row> | undefined
    #scores: number[] = []

    constructor(context: EnvironmentContext<Config>) {
      super(context)
      this.#context = context
    }

    override async setup(): Promise<void> {
      this.#walk = new RowWalk(await this.#load(definition.rows), {
        random: createRandom(this.config.seed ?? 42),
        shuffle: definition.shuffle ?? true,
        epochs: definition.epochs ?? Number.POSITIVE_INFINITY,
      })
    }

    override async nextItem(): Promise<Row | undefined> {
      return this.#walk?.next()
    }

    override async collectTrajectory(row: Row, rollout: Rollout<Config>): Promise<RolloutResult | undefined> {
      const { result } = await this.#attempt(row, rollout, definition.sampling ?? {})
      if (result === undefined || trainedTokens(rollout.session) < (definition.minTrainedTokens ?? 0)) return undefined
      this.#scores.push(Math.max(0, result.score))
      return result
    }

    override postprocess(group: TrajectoryGroup, row: Row): TrajectoryGroup | undefined {
      return definition.postprocess === undefined ? group : definition.postprocess(group, row, { config: this.config })
    }

    override async evaluate(evaluation: Evaluation<Config>): Promise<EvaluationResult | undefined> {
      const settings = definition.evaluation
      if (settings === undefined) return undefined
      const sampling = settings.sampling ?? { temperature: 0 }
      const correct = settings.correct ?? ((result: RolloutResult) => result.score >= 1)
      const items = await evaluation.run(await this.#load(settings.rows), async (row, rollout) => {
        const { answer, result, messages } = await this.#attempt(row, rollout, sampling)
        if (result === undefined) return undefined
        const sample: EvaluationSample = {
          ...(messages === undefined ? {} : { messages }),
          ...settings.sample?.(row, answer, result),
          score: result.score,
          correct: correct(result),
          ...(answer === undefined ? {} : { finishReason: answer.finishReason }),
        }
        return sample
      })
      return summariseSamples(items, { ...sampling })
    }

    override examples(): readonly Row[] {
      return definition.examples ?? []
    }

    override goldAnswer(row: Row, call: { turn: number; prompt: string }): string | undefined {
      return definition.gold?.(row, call)
    }

    override saveCheckpoint(): { iter: number } {
      return { iter: this.#walk?.count ?? 0 }
    }

    override async loadCheckpoint(state: unknown): Promise<void> {
      const iter = typeof state === "object" && state !== null && "iter" in state ? Number(state.iter) : 0
      await this.#walk?.skipTo(iter)
    }

    override metrics(): Record<string, number> {
      if (this.#scores.length === 0) return {}
      const mean = this.#scores.reduce((sum, score) => sum + score, 0) / this.#scores.length
      this.#scores = []
      return { "train/percent_correct": mean }
    }

    async #load(rows: Given<Row, EnvironmentContext<Config>>): Promise<Rows<Row>> {
      return typeof rows === "function" ? rows(this.#context) : rows
    }

    async #attempt(
      row: Row,
      rollout: Rollout<Config>,
      sampling: Sampling,
    ): Promise<{ answer?: Answer; result: RolloutResult | undefined; messages?: readonly InferenceMessage[] }> {
      const { prompt, score } = definition
      if (definition.rollout !== undefined) return { result: await definition.rollout(row, rollout) }
      if (prompt === undefined || score === undefined) return { result: undefined }
      const asked = prompt(row, rollout)
      const raw = typeof asked === "string"
      const answer = raw ? await rollout.session.complete(asked, sampling) : await rollout.session.chat(asked, sampling)
      const scored = await within("scorer", () => score(row, answer, rollout))
      const result = typeof scored === "number" ? { score: scored } : scored
      return { answer, result, ...(raw ? {} : { messages: [...asked, answer.message] }) }
    }
  }
}

function trainedTokens(session: Session): number {
  let trained = 0
  for (const { masks } of session.sequences()) {
    for (const mask of masks) if (mask !== -100) trained += 1
  }
  return trained
}
