import type { GrowingText } from "../../chat/bridge/growing-text.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { CompletionDelta } from "../inference-server.ts"
import { lengthBeforeStop } from "../stop-strings.ts"

/**
 * The text of an answer while it arrives. Stop strings are cut away by the server, in its own text: with them only what
 * its text and the sampled tokens agree on is certain, and nothing that may yet turn out to be one.
 */
export class HandedOutText {
  readonly #growing: GrowingText
  readonly #stops: readonly string[]
  #given = ""
  /** What was sampled, and what the server says, beyond what was given. */
  #sampled = ""
  #said = ""
  /** The server spells the answer otherwise: then the sampled text counts. */
  #differs = false

  constructor(growing: GrowingText, stops: readonly string[]) {
    this.#growing = growing
    this.#stops = stops.filter((stop) => stop !== "")
  }

  /** The text that has become certain. */
  push({ tokenIds = [], text = "" }: CompletionDelta): string {
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
    const { length } = this.#sampled
    if (this.#stops.length === 0) return length
    const both = Math.min(length, this.#said.length)
    this.#differs ||= this.#sampled.slice(0, both) !== this.#said.slice(0, both)
    return this.#differs ? length : Math.min(both, lengthBeforeStop(this.#sampled, this.#stops))
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
