import type { ChatMessage } from "../messages.ts"
import type { ConversationNode, Entry } from "./conversation-node.ts"
import { isEchoOf, isSameMessage, messageKey } from "./own-message.ts"

interface Branching<Facts> {
  next: Map<string, Branching<Facts>>
  /** Nodes whose conversation, with their answer, ends here; in the order of the session. */
  ends: ConversationNode<Facts>[]
}

/** Finds the node that a conversation goes on from, in one walk over its messages. */
export class MessageIndex<Facts> {
  readonly #root: Branching<Facts> = { next: new Map(), ends: [] }

  add(node: ConversationNode<Facts>): void {
    if (node.chat === undefined || node.message === undefined) return
    let at = this.#root
    for (const { message } of [...node.chat.entries, { message: node.message }]) {
      const key = messageKey(message)
      let next = at.next.get(key)
      if (next === undefined) {
        next = { next: new Map(), ends: [] }
        at.next.set(key, next)
      }
      at = next
    }
    at.ends.push(node)
  }

  /** The node with the longest conversation that `messages` continue with at least one more; the first of equals. */
  find(messages: readonly ChatMessage[]): ConversationNode<Facts> | undefined {
    const candidates: ConversationNode<Facts>[][] = []
    let at: Branching<Facts> | undefined = this.#root
    for (const message of messages.slice(0, -1)) {
      at = at.next.get(messageKey(message))
      if (at === undefined) break
      if (at.ends.length > 0) candidates.push(at.ends)
    }
    for (const ends of candidates.toReversed()) for (const node of ends) if (isContinued(node, messages)) return node
    return undefined
  }

  /** Whether any conversation begins with this message. */
  knows(message: ChatMessage): boolean {
    return this.#root.next.has(messageKey(message))
  }
}

/** The keys agree already; what they leave out is compared here. */
function isContinued<Facts>(node: ConversationNode<Facts>, messages: readonly ChatMessage[]): boolean {
  const entries: readonly Entry<Facts>[] = node.chat?.entries ?? []
  const agrees = ({ message, own }: Entry<Facts>, sent: ChatMessage | undefined): boolean => {
    if (sent === undefined) return false
    if (own?.message !== undefined) return isEchoOf(own.message, sent)
    return message.role !== "assistant" || isSameMessage(message, sent)
  }
  const answer = node.message
  const sent = messages[entries.length]
  if (answer === undefined || sent === undefined || !isEchoOf(answer, sent)) return false
  return entries.every((entry, index) => agrees(entry, messages[index]))
}
