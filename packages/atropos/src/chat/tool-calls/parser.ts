import type { FunctionTool, ParsedToolCalls, ToolCall, ToolCallFormat } from "./tool-call.ts"

/** What a chunk of streamed text made certain. */
export interface ToolCallDelta {
  /** Text of the content that can be handed out. */
  content: string
  /** Calls that have become complete. */
  calls: ToolCall[]
}

/** What finds calls in a text that arrives in chunks. */
export interface ToolCallStream {
  push(chunk: string): ToolCallDelta
  /** The rest, when nothing follows. */
  end(): ToolCallDelta
  /** All that was found up to now; final after `end()`. */
  result(): ParsedToolCalls
}

/**
 * Finds the calls in a model's text while it arrives. Calls and content come out the same for every way of cutting
 * the text into chunks: nothing is decided before every continuation would decide it alike.
 */
export class ToolCallParser implements ToolCallStream {
  readonly #format: ToolCallFormat
  readonly #tools: readonly FunctionTool[]
  #text = ""
  /** Everything before is decided. */
  #at = 0
  /** Characters of content handed out. */
  #handedOut = 0
  /** Where the text before the first call ends; unset while there is none. */
  #contentEnd: number | undefined
  readonly #calls: ToolCall[] = []

  constructor(format: ToolCallFormat, tools: readonly FunctionTool[]) {
    this.#format = format
    this.#tools = tools
  }

  push(chunk: string): ToolCallDelta {
    this.#text += chunk
    // A unit that waits at #at stays open until one of its last characters arrives.
    const waits = this.#startsUnit(this.#at) && !hasOneOf(chunk, this.#format.closers)
    const calls = waits ? [] : this.#advance(false)
    return { content: this.#release(this.#text.slice(0, this.#contentEnd ?? this.#at).trimEnd()), calls }
  }

  end(): ToolCallDelta {
    const calls = this.#advance(true)
    return { content: this.#release(this.result().content ?? ""), calls }
  }

  result(): ParsedToolCalls {
    const before = this.#contentEnd === undefined ? this.#text : this.#text.slice(0, this.#contentEnd).trimEnd()
    return { content: before.trim() === "" ? null : before, calls: [...this.#calls] }
  }

  #advance(final: boolean): ToolCall[] {
    const found: ToolCall[] = []
    for (;;) {
      const start = this.#nextMarker(final)
      if (start === undefined) return found
      this.#at = start
      const match = this.#format.match(this.#text, start, {
        tools: this.#tools,
        final,
        continuing: this.#calls.length > 0,
      })
      if (match === "partial") {
        // A unit that is cut off covers the rest: what looks like a call inside it is none.
        if (final) this.#at = this.#text.length
        return found
      }
      if ("resume" in match) {
        this.#at = Math.max(match.resume, start + 1)
        continue
      }
      this.#contentEnd ??= start
      this.#calls.push(...match.calls)
      found.push(...match.calls)
      this.#at = match.end
    }
  }

  /** The place of the next marker; without one, moves on to where one may still begin. */
  #nextMarker(final: boolean): number | undefined {
    let first = Infinity
    for (const marker of this.#format.markers) {
      const index = this.#text.indexOf(marker, this.#at)
      if (index !== -1) first = Math.min(first, index)
    }
    const possible = final ? this.#text.length : this.#possibleMarker()
    if (first <= possible && first !== Infinity) return first
    this.#at = possible
    return undefined
  }

  /** Where a marker that the text ends in the middle of begins; else the text's length. */
  #possibleMarker(): number {
    const longest = Math.max(...this.#format.markers.map((marker) => marker.length))
    for (let start = Math.max(this.#at, this.#text.length - longest + 1); start < this.#text.length; start++) {
      const tail = this.#text.slice(start)
      if (this.#format.markers.some((marker) => marker.startsWith(tail) && marker !== tail)) return start
    }
    return this.#text.length
  }

  #startsUnit(at: number): boolean {
    return this.#format.markers.some((marker) => this.#text.startsWith(marker, at))
  }

  /** Hands out what is new in the content known so far; white space waits until something follows it. */
  #release(content: string): string {
    const fresh = content.slice(this.#handedOut)
    this.#handedOut += fresh.length
    return fresh
  }
}

function hasOneOf(text: string, characters: string): boolean {
  for (const character of characters) if (text.includes(character)) return true
  return false
}
