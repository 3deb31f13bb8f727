import { contentText, thoughtOf, type ChatMessage } from "../../chat/messages.ts"
import type { CompletionDelta } from "../inference-server.ts"
import { callParts, textPart, thoughtPart, type AnswerPart } from "./growing-answer.ts"
import { restAfter } from "./handed-out-text.ts"

/** The answer of a provider that takes it apart itself; calls are handed out when they are whole. */
export class GrowingTextAnswer {
  #text = ""
  #thought = ""

  push({ choice, text = "", reasoning = "" }: CompletionDelta): AnswerPart[] {
    if (choice !== 0) return []
    this.#text += text
    this.#thought += reasoning
    return [...thoughtPart(reasoning), ...textPart(text)]
  }

  /** What of the message is still to be handed out. */
  rest(message: ChatMessage): AnswerPart[] {
    const thought = restAfter(this.#thought, thoughtOf(message))
    const text = restAfter(this.#text, contentText(message.content) ?? "")
    return [...thoughtPart(thought), ...textPart(text), ...callParts(message)]
  }
}
