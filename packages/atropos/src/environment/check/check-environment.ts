// Holds an environment to what training needs of it, without a server, a model or a network.
import { createStubTokenizer } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { AnyEnvironmentClass, EnvironmentClass } from "../environment-class.ts"
import { describeFailure } from "../rollouts/rollout-failure.ts"
import type { ScriptedCall } from "../testing/scripted-policy.ts"
import { openTrial, type Trial } from "../testing/trial.ts"
import { checkAbout } from "./check-about.ts"
import { type Attempt, judgeAttempts, type ItemAttempts } from "./judge-attempts.ts"

export interface CheckResult {
  /** What was checked, as a sentence that is true when it holds. */
  name: string
  status: "passed" | "failed" | "skipped"
  /** What was seen, or why it was skipped and what to do. */
  detail: string
}

export interface CheckOptions {
  /** Items to try. @default 4 */
  items?: number
  config?: Partial<EnvironmentConfig>
}

type AnyTrial = Trial<unknown, EnvironmentConfig>

/** Runs an environment on scripted answers and says what holds. */
export async function checkEnvironment(
  environmentClass: AnyEnvironmentClass,
  options: CheckOptions = {},
): Promise<CheckResult[]> {
  const about = checkAbout(environmentClass.about)
  const name = "items are there offline"
  try {
    const { items, skipSetup } = await takeItems(environmentClass, options)
    const attempts: ItemAttempts[] = []
    for (const [number, item] of items.entries()) {
      attempts.push(await tryItem(environmentClass, item, number, { ...options, skipSetup }))
    }
    const found: CheckResult = { name, status: "passed", detail: `${items.length} tried` }
    return [...about, found, ...judgeAttempts(attempts)]
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const hint = "give the environment examples() (examples in the short form), which need no network and no setup"
    return [...about, { name, status: "failed", detail: `${message}; ${hint}` }]
  }
}

/** Examples, or the first items after `setup`. */
async function takeItems(
  environmentClass: AnyEnvironmentClass,
  options: CheckOptions,
): Promise<{ items: unknown[]; skipSetup: boolean }> {
  const { items: wanted = 4 } = options
  const bare = await open(environmentClass, { ...options, answer: () => "", skipSetup: true })
  const examples = bare.environment.examples().slice(0, wanted)
  if (examples.length > 0) return { items: examples, skipSetup: true }
  const trial = await open(environmentClass, { ...options, answer: () => "", skipSetup: false })
  try {
    const items: unknown[] = []
    while (items.length < wanted) {
      const item = await trial.environment.nextItem()
      if (item === undefined) break
      items.push(item)
    }
    if (items.length === 0) throw new Error("nextItem gave nothing")
    return { items, skipSetup: false }
  } finally {
    await trial.close()
  }
}

/** An item's scores for gibberish (twice), for empty answers, and for gold ones where they are known. */
async function tryItem(
  environmentClass: AnyEnvironmentClass,
  item: unknown,
  number: number,
  options: CheckOptions & { skipSetup: boolean },
): Promise<ItemAttempts> {
  let trial: AnyTrial | undefined
  const attempt = async (text: (call: ScriptedCall) => string): Promise<Attempt> => {
    let cut = false
    const opened = await open(environmentClass, {
      ...options,
      answer: (call) => {
        const answer = text(call)
        // The end token comes on top.
        cut ||= opened.environment.tokenizer.encode(answer).length >= (call.sampling.maxTokens ?? Infinity)
        return answer
      },
    })
    trial = opened
    try {
      return { ...(await collect(opened, item)), cut }
    } finally {
      await opened.close()
    }
  }
  const noise = ({ turn }: ScriptedCall): string => gibberish(number + turn)
  const random = await attempt(noise)
  const again = await attempt(noise)
  const empty = await attempt(() => "")
  const known = trial?.environment.goldAnswer(item, { turn: 0, prompt: "" }) !== undefined
  const gold = known ? await attempt((call) => trial?.environment.goldAnswer(item, call) ?? "") : undefined
  return { random, again, empty, gold }
}

async function collect(trial: AnyTrial, item: unknown): Promise<Omit<Attempt, "cut">> {
  const { groups, dropped, failures } = await trial.collect(item)
  const all = [...groups, ...dropped.flatMap(({ group }) => (group === undefined ? [] : [group]))]
  return {
    scores: all.flatMap(({ sequences }) => sequences.map(({ score }) => score)),
    failures: failures.map(describeFailure),
  }
}

function open(
  environmentClass: AnyEnvironmentClass,
  options: CheckOptions & { answer: (call: ScriptedCall) => string; skipSetup: boolean },
): Promise<AnyTrial> {
  // Of a class that is known only when it runs; its configuration is read with its own schema.
  return openTrial(environmentClass as unknown as EnvironmentClass, {
    answer: options.answer,
    skipSetup: options.skipSetup,
    config: { ...options.config, ensureScoresAreNotSame: false },
  })
}

/** What a model that knows nothing might say. */
function gibberish(seed: number): string {
  const ids = Array.from({ length: 12 + (seed % 5) }, (_, position) => 300 + ((seed * 53 + position * 29) % 400))
  return createStubTokenizer().decode(ids)
}
