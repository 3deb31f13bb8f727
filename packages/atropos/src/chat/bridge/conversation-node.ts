import type { ChatMessage, ChatTool } from "../messages.ts"
import type { TemplateInput } from "../template/values/convert.ts"

/** What the caller knows of a sample, beyond its ids; kept with the node and not looked at here. */
export interface Sample<Facts> {
  ids: readonly number[]
  /** The message that was handed out for it; undefined for a raw completion. */
  message: ChatMessage | undefined
  facts: Facts
}

/** One message of a conversation, and the sample it is if the policy wrote it. */
export interface Entry<Facts> {
  message: ChatMessage
  own: ConversationNode<Facts> | undefined
}

/** How a chat prompt came about, for the call that goes on from it. */
export interface ChatPrompt<Facts> {
  /** The conversation as the client sent it, with the policy's own messages known as such. */
  entries: readonly Entry<Facts>[]
  /** The conversation as it was given to the template. */
  given: readonly ChatMessage[]
  tools: readonly ChatTool[] | null
  variables: Readonly<Record<string, TemplateInput>>
  /** The prompt's text as the template wrote it. */
  pieces: readonly string[]
}

/**
 * One sampled answer of a session. Ids and texts of a node never change; a node without a parent holds its whole
 * prompt, others what came after their parent's sample.
 */
export interface ConversationNode<Facts> {
  /** Its place among the session's samples, from 0. */
  readonly index: number
  readonly parent: ConversationNode<Facts> | undefined
  /** Ids between the parent's sample and this one. */
  readonly added: readonly number[]
  readonly ids: readonly number[]
  /** Ids before the sample, on the whole path. */
  readonly promptLength: number
  /** Text of the prompt: the template's, or the raw prompt as it was given. */
  readonly text: string
  /** Text of the sample without the token that ended it. */
  readonly answerText: string
  /** Undefined for a raw completion. */
  readonly chat: ChatPrompt<Facts> | undefined
  readonly message: ChatMessage | undefined
  readonly facts: Facts
  readonly children: ConversationNode<Facts>[]
}

/** The nodes from the root to `node`. */
export function pathTo<Facts>(node: ConversationNode<Facts>): ConversationNode<Facts>[] {
  const path: ConversationNode<Facts>[] = []
  for (let at: ConversationNode<Facts> | undefined = node; at !== undefined; at = at.parent) path.push(at)
  return path.toReversed()
}

/** The last id of a node's path; undefined for an empty sample after an empty prompt. */
export function lastId<Facts>(node: ConversationNode<Facts>): number | undefined {
  return node.ids.at(-1) ?? node.added.at(-1)
}
