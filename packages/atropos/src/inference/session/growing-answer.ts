// An answer is taken apart while its text arrives: first the thought, then calls. What was handed out never changes.
import { contentText, thoughtOf, type ChatMessage, type ChatTool, type ChatToolCall } from "../../chat/messages.ts"
import { createToolCallParser } from "../../chat/tool-calls/formats.ts"
import type { ToolCallDelta, ToolCallStream } from "../../chat/tool-calls/parser.ts"
import type { ToolCall } from "../../chat/tool-calls/tool-call.ts"
import type { FinishReason } from "../inference-server.ts"
import { functionTools } from "./function-tools.ts"
import { ThoughtSplitter } from "./thought-splitter.ts"

/** A piece of an answer that is certain. Texts of one type follow each other; a call is whole. */
export type AnswerPart =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool-call"; index: number; id: string; name: string; arguments: string }

export interface ParsedAnswer {
  message: ChatMessage
  finishReason: FinishReason
}

export interface GrowingAnswerOptions {
  toolCallFormat: string | undefined
  splitThoughts: boolean
  newCallId: () => string
  tools: readonly ChatTool[] | null
}

/** One answer while it arrives; its parts, put together, are the message. */
export class GrowingAnswer {
  readonly #newCallId: () => string
  readonly #thoughts: ThoughtSplitter | undefined
  readonly #parser: ToolCallStream | undefined
  #thought = ""
  /** All text after the thought, and what of it was not handed out. */
  #text = ""
  #waiting = ""
  /** What the parser took for content, while it is not sure to be the message's. */
  #content = ""
  readonly #calls: (ChatToolCall & { id: string })[] = []

  constructor({ toolCallFormat, splitThoughts, newCallId, tools }: GrowingAnswerOptions) {
    this.#newCallId = newCallId
    this.#thoughts = splitThoughts ? new ThoughtSplitter() : undefined
    if (toolCallFormat !== undefined && tools !== null && tools.length > 0)
      this.#parser = createToolCallParser(toolCallFormat, functionTools(tools))
  }

  /** What the next piece of the text made certain. */
  push(text: string): AnswerPart[] {
    if (this.#thoughts === undefined) return this.#pushText(text)
    return this.#pushSplit(this.#thoughts.push(text))
  }

  /** The rest, and the message, when nothing follows. */
  end(finishReason: FinishReason): { parts: AnswerPart[]; answer: ParsedAnswer } {
    const parts = this.#thoughts === undefined ? [] : this.#pushSplit(this.#thoughts.end())
    const reasoning = this.#thought === "" ? {} : { reasoning_content: this.#thought }
    if (this.#parser !== undefined) parts.push(...this.#take(this.#parser.end()))
    if (this.#calls.length === 0) {
      parts.push(...textPart(this.#waiting))
      return { parts, answer: { message: { role: "assistant", content: this.#text, ...reasoning }, finishReason } }
    }
    return {
      parts,
      answer: {
        message: {
          role: "assistant",
          content: this.#parser?.result().content ?? null,
          ...reasoning,
          tool_calls: this.#calls,
        },
        // A cut answer stays one, also when whole calls stand before the cut.
        finishReason: finishReason === "stop" ? "tool_calls" : finishReason,
      },
    }
  }

  #pushSplit({ thought, text }: { thought: string; text: string }): AnswerPart[] {
    this.#thought += thought
    return [...thoughtPart(thought), ...this.#pushText(text)]
  }

  #pushText(text: string): AnswerPart[] {
    if (text === "") return []
    this.#text += text
    if (this.#parser === undefined) return textPart(text)
    this.#waiting += text
    return this.#take(this.#parser.push(text))
  }

  /** Content is certain where it is the text itself, which an answer without calls is, or where there are calls. */
  #take({ content, calls }: ToolCallDelta): AnswerPart[] {
    this.#content += content
    const parts: AnswerPart[] = []
    const called = this.#calls.length + calls.length > 0
    if (called || this.#waiting.startsWith(this.#content)) {
      parts.push(...textPart(this.#content))
      this.#waiting = this.#waiting.slice(this.#content.length)
      this.#content = ""
    }
    for (const call of calls) parts.push(this.#addCall(call))
    return parts
  }

  #addCall({ id = this.#newCallId(), name, arguments: args }: ToolCall): AnswerPart {
    const index = this.#calls.push({ id, type: "function", function: { name, arguments: args } }) - 1
    return { type: "tool-call", index, id, name, arguments: args }
  }
}

/** The parts of a message that came whole. */
export function partsOf(message: ChatMessage): AnswerPart[] {
  return [...thoughtPart(thoughtOf(message)), ...textPart(contentText(message.content) ?? ""), ...callParts(message)]
}

export function callParts(message: ChatMessage): AnswerPart[] {
  return (message.tool_calls ?? []).map(({ id = "", function: called }, index) => {
    const { name, arguments: given } = called
    return { type: "tool-call", index, id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) }
  })
}

export function textPart(text: string): AnswerPart[] {
  return text === "" ? [] : [{ type: "text", text }]
}

export function thoughtPart(text: string): AnswerPart[] {
  return text === "" ? [] : [{ type: "reasoning", text }]
}
