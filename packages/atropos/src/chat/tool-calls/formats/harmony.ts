import type { ToolCallDelta, ToolCallStream } from "../parser.ts"
import { scanJson } from "../scan.ts"
import type { ParsedToolCalls, ToolCall } from "../tool-call.ts"

/** One message of a sample: the text starts after `<|start|>assistant`, so the first has no start of its own. */
interface HarmonyMessage {
  channel: string
  recipient: string | undefined
  body: string
  /** The token that ended it; undefined while the text ends in it. */
  closed: string | undefined
  /** The text ends inside the header. */
  cut?: boolean
  end: number
}

const terminators = ["<|call|>", "<|end|>", "<|return|>", "<|start|>"]
const recipientPrefix = "functions."

/**
 * gpt-oss: a call is a message to `functions.name` whose body is a JSON object. Content is the text of the final
 * channel and of commentary without a recipient before the first call; analysis is reasoning. The final message is
 * the last that counts. When a call is broken or cut off and none is complete, the whole text is content.
 */
export class HarmonyParser implements ToolCallStream {
  #text = ""
  #at = 0
  #handedOut = 0
  readonly #parts: string[] = []
  readonly #calls: ToolCall[] = []
  #brokenCall = false
  /** The final message has begun: its text is handed out as it comes. */
  #final: string | undefined
  /** The final message is complete: what follows does not count. */
  #finished = false
  #ended = false

  push(chunk: string): ToolCallDelta {
    this.#text += chunk
    return this.#advance()
  }

  end(): ToolCallDelta {
    this.#ended = true
    return this.#advance()
  }

  result(): ParsedToolCalls {
    const content = this.#content()
    return { content: content.trim() === "" ? null : content, calls: [...this.#calls] }
  }

  #advance(): ToolCallDelta {
    const found: ToolCall[] = []
    while (!this.#finished) {
      const message = readMessage(this.#text, this.#at, this.#ended)
      if (message === undefined) break
      if (message.channel === "final" && message.recipient === undefined) {
        this.#final = message.body
        this.#finished = message.closed !== undefined
        break
      }
      if (message.closed === undefined && !this.#ended) break
      this.#at = message.end
      this.#take(message, found)
    }
    const certain = this.#ended || this.#calls.length > 0 || (this.#final !== undefined && !this.#brokenCall)
    const content = certain ? this.#content() : ""
    const fresh = content.trim() === "" ? "" : content.slice(this.#handedOut)
    this.#handedOut += fresh.length
    return { content: fresh, calls: found }
  }

  #take(message: HarmonyMessage, found: ToolCall[]): void {
    if (message.cut) {
      this.#brokenCall = true
    } else if (message.recipient?.startsWith(recipientPrefix) === true) {
      const call = readCall(message)
      if (call === undefined) this.#brokenCall = true
      else {
        found.push(call)
        this.#calls.push(call)
      }
    } else if (message.recipient === undefined && message.channel !== "analysis" && this.#calls.length === 0) {
      this.#parts.push(message.body)
    }
  }

  #content(): string {
    if (this.#calls.length > 0) return this.#parts.join("\n").trimEnd()
    if (this.#brokenCall) return this.#text
    return [...this.#parts, ...(this.#final === undefined ? [] : [this.#final])].join("\n")
  }
}

function readCall(message: HarmonyMessage): ToolCall | undefined {
  const body = message.body.trim()
  // The call token ends a sample, so it may have been taken off.
  if (message.closed !== "<|call|>" && message.closed !== undefined) return undefined
  if (!body.startsWith("{") || scanJson(body, 0) !== body.length) return undefined
  return { name: message.recipient?.slice(recipientPrefix.length) ?? "", arguments: body }
}

/** The message at `at`; undefined while its header is not complete. */
function readMessage(text: string, at: number, ended: boolean): HarmonyMessage | undefined {
  if (at >= text.length) return undefined
  const marker = text.indexOf("<|message|>", at)
  if (marker === -1) {
    if (!ended) return undefined
    const header = text.slice(at)
    // Text without any header is content; a header that is cut off may have been a call's.
    const cut = header.includes("<|")
    return { channel: "", recipient: undefined, body: header, closed: undefined, cut, end: text.length }
  }
  const header = readHeader(text.slice(at, marker))
  const bodyStart = marker + "<|message|>".length
  let bodyEnd = -1
  let closed: string | undefined
  for (const terminator of terminators) {
    const index = text.indexOf(terminator, bodyStart)
    if (index !== -1 && (bodyEnd === -1 || index < bodyEnd)) {
      bodyEnd = index
      closed = terminator
    }
  }
  if (closed === undefined) {
    const certain = ended ? text.length : withoutPartialTerminator(text, bodyStart)
    return { ...header, body: text.slice(bodyStart, certain), closed, end: text.length }
  }
  const end = closed === "<|start|>" ? bodyEnd : bodyEnd + closed.length
  return { ...header, body: text.slice(bodyStart, bodyEnd), closed, end }
}

function readHeader(header: string): Pick<HarmonyMessage, "channel" | "recipient"> {
  const channel = /<\|channel\|>\s*(\w+)/.exec(header)?.[1]
  const recipient = /\sto=([^\s<]+)/.exec(header)?.[1]
  return { channel: channel ?? "", recipient }
}

function withoutPartialTerminator(text: string, from: number): number {
  const longest = Math.max(...terminators.map((terminator) => terminator.length))
  for (let start = Math.max(from, text.length - longest + 1); start < text.length; start++) {
    const tail = text.slice(start)
    if (terminators.some((terminator) => terminator.startsWith(tail))) return start
  }
  return text.length
}

export function writeHarmony(calls: readonly ToolCall[]): string {
  return calls
    .map(
      (call) =>
        `<|channel|>commentary to=${recipientPrefix}${call.name} <|constrain|>json<|message|>${call.arguments}<|call|>`,
    )
    .join("<|start|>assistant")
}
