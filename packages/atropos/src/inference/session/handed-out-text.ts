import type { GrowingText } from "../../chat/bridge/growing-text.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { CompletionDelta } from "../inference-server.ts"
import { lengthBeforeStop } from "../stop-strings.ts"

/**
 * The text of an answer while it arrives. Stop strings are cut away by the server, in its own text: with them only as
 * much as it has said is certain, and nothing that may yet turn out to be one.
 */
export class HandedOutText {
  readonly #growing: GrowingText
  readonly #stops: readonly string[]
  #given = ""
  /** What was sampled, and what the server says, beyond what was given. */
  #sampled = ""
  #said = ""

  constructor(growing: GrowingText, stops: readonly string[]) {
    this.#growing = growing
    this.#stops = stops.filter((stop) => stop !== "")
  }

  /** The text that has become certain. */
  push({ choice, tokenIds = [], text = "" }: CompletionDelta): string {
    if (choice !== 0) return ""
    this.#sampled += this.#growing.push(tokenIds)
    this.#said += text
    const fresh = this.#sampled.slice(0, this.#certainLength())
    this.#sampled = this.#sampled.slice(fresh.length)
    this.#said = this.#said.slice(fresh.length)
    this.#given += fresh
    return fresh
  }

  /** What is still to be given of the whole text. */
  rest(whole: string): string {
    return restAfter(this.#given, whole)
  }

  #certainLength(): number {
    if (this.#stops.length === 0) return this.#sampled.length
    return Math.min(this.#said.length, lengthBeforeStop(this.#sampled, this.#stops))
  }
}

/** What follows what was handed out already. */
export function restAfter(given: string, whole: string): string {
  if (whole.slice(0, given.length) === given) return whole.slice(given.length)
  throw new AtroposError(
    "inference-answer",
    "the streamed pieces of an answer are not the beginning of the whole one; ask without a stream",
  )
}
