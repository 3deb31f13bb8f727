import { randomUUID } from "node:crypto"

import type { ChatTool } from "../../chat/messages.ts"
import type { FinishReason } from "../inference-server.ts"
import { GrowingAnswer, type AnswerPart, type ParsedAnswer } from "./growing-answer.ts"

export interface SampledText {
  text: string
  tokenIds: readonly number[]
  finishReason: FinishReason
}

/** Takes one answer apart while it arrives. */
export interface AnswerReader {
  /** What the next piece of the sampled text made certain. */
  push(text: string): AnswerPart[]
  /** The rest, and the answer, when the whole text has been pushed: its message is the parts put together. */
  end(finishReason: FinishReason): { parts: AnswerPart[]; answer: ParsedAnswer }
}

/** Makes the message that is handed out of what was sampled; the session keeps the sampled text beside it. */
export interface AnswerParser {
  (sampled: SampledText, request: { tools: readonly ChatTool[] | null }): ParsedAnswer
  /** The same for a text that arrives in pieces; without it a streamed answer is handed out when it is whole. */
  read?(request: { tools: readonly ChatTool[] | null }): AnswerReader
}

export interface AnswerParserOptions {
  /** How the model writes calls (`hermes`, `llama3_json`, …); calls stay text without it. */
  toolCallFormat?: string
  /** Hands a thought out in `reasoning_content` instead of in the content. @default false */
  splitThoughts?: boolean
  /** @default random ids like `call_1f0c…` */
  newCallId?: () => string
}

export function createAnswerParser(options: AnswerParserOptions = {}): AnswerParser {
  const { toolCallFormat, splitThoughts = false, newCallId = randomCallId } = options
  const read: NonNullable<AnswerParser["read"]> = ({ tools }) =>
    new GrowingAnswer({ toolCallFormat, splitThoughts, newCallId, tools })
  const parse: AnswerParser = ({ text, finishReason }, request) => {
    const reader = read(request)
    reader.push(text)
    return reader.end(finishReason).answer
  }
  return Object.assign(parse, { read })
}

function randomCallId(): string {
  return `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`
}
