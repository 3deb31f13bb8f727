import { AtroposError } from "../runtime/errors.ts"
import { createChatTemplate, type ChatTemplate, type RenderRequest } from "./chat-template.ts"
import { closingTokenIds } from "./end-of-turn.ts"
import { contentText, type ChatMessage } from "./messages.ts"
import { encodeMarked } from "./plain-contents.ts"
import type { Tokenizer } from "./tokenizer.ts"

export interface TokenizeForTrainerOptions extends Pick<RenderRequest, "tools" | "variables" | "now"> {
  /** @default the tokenizer's own */
  template?: ChatTemplate
  /** Trains on every answer instead of the last message only. @default false */
  trainOnAllAssistantTurns?: boolean
  /** Gives the messages back beside the tokens. @default false */
  includeMessages?: boolean
  /** How the last answer ended: a `length` answer was cut, so its end of turn is dropped. */
  finishReason?: string
  /** Keeps text that spells control tokens text, as in `ChatTemplateOptions`; a `template` says so itself. @default false */
  plainContents?: boolean
}

export interface TokenizedChat {
  tokens: number[]
  /** The token's id where it is trained on, else -100. */
  masks: number[]
  messages?: readonly ChatMessage[]
}

const ignoredMask = -100
const trainedRoles: ReadonlySet<string> = new Set(["assistant", "agent"])

/**
 * Tokens and masks of a finished conversation, for data that was not sampled in a session.
 *
 * A mask starts where the conversation up to its answer ends, so that part, rendered by itself, has to be a token
 * prefix of the whole; where a template rewrites history it is not, and this throws `history-rewritten`.
 */
export function tokenizeForTrainer(
  tokenizer: Tokenizer,
  messages: readonly ChatMessage[],
  options: TokenizeForTrainerOptions = {},
): TokenizedChat {
  const { plainContents = false, trainOnAllAssistantTurns = false } = options
  const template = options.template ?? createChatTemplate(tokenizer, { plainContents })
  if (plainContents && template.plainContents !== true)
    throw new AtroposError(
      "bad-option",
      "plainContents needs a template that marks contents; make it with createChatTemplate(tokenizer, { plainContents: true })",
    )
  const { tools = null, variables = {}, now } = options
  if (messages.length === 0)
    throw new AtroposError("bad-option", "tokenizeForTrainer needs at least one message, received none")
  const encode = (count: number, addGenerationPrompt: boolean): number[] => {
    const text = template.render({
      messages: messages.slice(0, count),
      tools,
      variables,
      addGenerationPrompt,
      ...(now === undefined ? {} : { now }),
    })
    return template.plainContents === true ? encodeMarked(tokenizer, text) : tokenizer.encode(text)
  }
  const tokens = encode(messages.length, false)
  const prefixLength = (count: number, addGenerationPrompt: boolean): number => {
    const part = encode(count, addGenerationPrompt)
    if (!part.every((id, index) => tokens[index] === id))
      throw new AtroposError(
        "history-rewritten",
        `the chat template of ${tokenizer.name} writes the first ${count} of ${messages.length} messages differently ` +
          `when ${addGenerationPrompt ? "an answer is to follow" : "they stand alone"}, so no mask would be right; train on the last turn, ` +
          "or use a template that keeps its prefix",
        { facts: { messages: messages.length, prefix: count } },
      )
    return part.length
  }

  const masks = tokens.map(() => ignoredMask)
  const unmask = (message: ChatMessage | undefined, start: number, end: number): void => {
    if (end <= start && isWritten(message))
      throw new AtroposError(
        "history-rewritten",
        `the chat template of ${tokenizer.name} leaves an answer out, so there is nothing of it to train on; ` +
          "look whether it takes content of this kind (text, or a list of parts)",
        { facts: { messages: messages.length } },
      )
    for (let i = start; i < end; i += 1) masks[i] = tokens[i] ?? ignoredMask
  }
  if (trainOnAllAssistantTurns) {
    for (const [index, message] of messages.entries())
      if (trainedRoles.has(message.role)) unmask(message, prefixLength(index, true), prefixLength(index + 1, false))
  } else unmask(messages.at(-1), prefixLength(messages.length - 1, true), tokens.length)

  const length = options.finishReason === "length" ? lengthWithoutEnd(tokenizer, tokens) : tokens.length
  return {
    tokens: tokens.slice(0, length),
    masks: masks.slice(0, length),
    ...(options.includeMessages === true ? { messages } : {}),
  }
}

/** Whether an answer has text to train on. */
function isWritten(message: ChatMessage | undefined): boolean {
  return message !== undefined && trainedRoles.has(message.role) && (contentText(message.content) ?? "").trim() !== ""
}

/** Where the end of the last turn, with any blanks that the template writes after it, begins. */
function lengthWithoutEnd(tokenizer: Tokenizer, tokens: readonly number[]): number {
  const closing = new Set([...closingTokenIds(tokenizer), ...tokenizer.stopTokenIds])
  let end = tokens.length
  while (end > 0 && isBlank(tokenizer, tokens[end - 1])) end -= 1
  return closing.has(tokens[end - 1] ?? -1) ? end - 1 : tokens.length
}

function isBlank(tokenizer: Tokenizer, id: number | undefined): boolean {
  return id !== undefined && tokenizer.decode([id]).trim() === ""
}
