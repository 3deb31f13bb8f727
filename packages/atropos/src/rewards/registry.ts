import { AtroposError } from "../runtime/errors.ts"
import { nearest } from "../runtime/nearest.ts"
import { accuracyX } from "./functions/accuracy-x.ts"
import { accuracy } from "./functions/accuracy.ts"
import { cascadingR1Math } from "./functions/cascading-r1-math.ts"
import { chandasMeter } from "./functions/chandas-meter.ts"
import { combined } from "./functions/combined.ts"
import { cosineScaled } from "./functions/cosine-scaled.ts"
import { crosswordFormat } from "./functions/crossword-format.ts"
import { formatReasoning } from "./functions/format-reasoning.ts"
import { format } from "./functions/format.ts"
import { judge } from "./functions/judge.ts"
import { pokerActionMatch, pokerBetSizing, pokerCombined } from "./functions/poker.ts"
import { r1 } from "./functions/r1.ts"
import { reasoningSteps } from "./functions/reasoning-steps.ts"
import { repetitionPenalty } from "./functions/repetition-penalty.ts"
import {
  camelKeys,
  type PlainReward,
  type Reward,
  type RewardKind,
  type RewardServices,
  type RewardSpec,
} from "./reward.ts"

const builtIn: readonly RewardKind[] = [
  accuracy,
  format,
  formatReasoning,
  accuracyX,
  r1,
  reasoningSteps,
  repetitionPenalty,
  crosswordFormat,
  cosineScaled,
  chandasMeter,
  combined,
  judge,
  cascadingR1Math,
  pokerActionMatch,
  pokerBetSizing,
  pokerCombined,
]

/** Makes rewards of names and configuration objects, from the built-in ones and those registered. */
export class RewardRegistry {
  private readonly kinds = new Map<string, RewardKind>()
  private readonly plain = new Map<string, { name: string; compute: PlainReward }>()
  private readonly services: RewardServices

  constructor(services: Omit<RewardServices, "create"> = {}) {
    this.services = { ...services, create: (spec) => this.create(spec) }
    for (const kind of builtIn) this.register(kind)
  }

  /** Names as in configuration files, sorted. */
  get names(): string[] {
    return [...this.kinds.values(), ...this.plain.values()].map(({ name }) => name).toSorted()
  }

  /** Adds a kind of reward, or a plain function under a name; a later one of the same name replaces it. */
  register(kind: RewardKind): void
  register(name: string, compute: PlainReward): void
  register(kindOrName: RewardKind | string, compute?: PlainReward): void {
    if (typeof kindOrName !== "string") {
      this.kinds.set(keyOf(kindOrName.name), kindOrName)
      this.plain.delete(keyOf(kindOrName.name))
    } else if (compute !== undefined) {
      this.plain.set(keyOf(kindOrName), { name: kindOrName, compute })
      this.kinds.delete(keyOf(kindOrName))
    }
  }

  /** The kind's name that a name or alias (`reasoning_steps`, `format_reward`) stands for; throws for unknown ones. */
  resolve(name: string): string {
    return this.find(name).name
  }

  /** A reward of a name, a function, or an object with `type`, `weight` and settings (also under `params`). */
  create(spec: RewardSpec, overrides: Readonly<Record<string, unknown>> = {}): Reward {
    if (typeof spec === "function") return { name: spec.name || "reward", weight: 1, compute: spec }
    if (isReward(spec)) return spec
    const { type, params, ...rest } = typeof spec === "string" ? { type: spec, params: {} } : spec
    const { weight = 1, ...settings } = camelKeys({ ...overrides, ...params, ...rest })
    if (typeof weight !== "number" || !Number.isFinite(weight)) {
      throw new AtroposError(
        "bad-option",
        `the weight of reward ${type} must be a number, received ${JSON.stringify(weight)}`,
      )
    }
    const found = this.find(type)
    if ("compute" in found) return { name: found.name, weight, compute: found.compute }
    return { name: found.name, weight, compute: found.create(this.parseSettings(found, settings), this.services) }
  }

  private find(name: string): RewardKind | { name: string; compute: PlainReward } {
    const key = keyOf(name)
    const found = this.plain.get(key) ?? this.kinds.get(key)
    if (found !== undefined) return found
    const near = nearest(name, this.names)
    throw new AtroposError(
      "bad-option",
      `unknown reward ${JSON.stringify(name)}${near === undefined ? "" : `, did you mean ${near}?`} Known: ${this.names.join(", ")}`,
    )
  }

  private parseSettings(kind: RewardKind, settings: Record<string, unknown>): Record<string, unknown> {
    const known = Object.keys(kind.options.shape)
    for (const key of Object.keys(settings)) {
      if (known.includes(key)) continue
      const near = nearest(key, known)
      throw new AtroposError(
        "bad-option",
        `reward ${kind.name} has no setting ${JSON.stringify(key)}${near === undefined ? `; it has ${known.join(", ") || "none"}` : `, did you mean ${near}?`}`,
      )
    }
    const result = kind.options.safeParse(nestedCamelKeys(settings))
    if (result.success) return result.data
    const [issue] = result.error.issues
    const field = String(issue?.path[0] ?? "")
    throw new AtroposError(
      "bad-option",
      `reward ${kind.name}, ${field}: ${issue?.message ?? "not valid"}, received ${JSON.stringify(settings[field])}`,
    )
  }
}

/** `FormatReasoning`, `format_reasoning` and `format_reasoning_reward` are one name. */
function keyOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[_-]/g, "")
    .replace(/(?<=.)reward$/, "")
}

/** Weights by name (`pattern_weights: { bullet_points: 1 }`) are spelled with underscores too. */
function nestedCamelKeys(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? camelKeys(value as Record<string, unknown>)
        : value,
    ]),
  )
}

function isReward(spec: RewardSpec): spec is Reward {
  return typeof spec === "object" && "compute" in spec && typeof spec.compute === "function"
}
