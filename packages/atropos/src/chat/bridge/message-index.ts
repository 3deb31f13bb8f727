import type { ChatMessage } from "../messages.ts"
import type { ConversationNode, Entry } from "./conversation-node.ts"
import { isEchoOf } from "./own-message.ts"
import { sameJson } from "./same-json.ts"

/** A message in its place after those before it. */
interface Place<Facts> {
  message: ChatMessage
  own: ConversationNode<Facts> | undefined
  next: Place<Facts>[]
  /** The node whose answer this is. */
  node: ConversationNode<Facts> | undefined
}

/**
 * Finds the node that a conversation goes on from. Conversations share their beginnings here, so that a request is
 * compared with each message once; samples have places of their own even where they are equal.
 */
export class MessageIndex<Facts> {
  readonly #first: Place<Facts>[] = []
  readonly #placeOf = new Map<ConversationNode<Facts>, Place<Facts>>()

  add(node: ConversationNode<Facts>): void {
    if (node.chat === undefined || node.message === undefined) return
    const { entries } = node.chat
    // What stands before an answer that is known stands before its place.
    const known = entries.findLastIndex(({ own }) => own !== undefined)
    const own = entries[known]?.own
    let places = (own === undefined ? undefined : this.#placeOf.get(own)?.next) ?? this.#first
    for (const entry of entries.slice(known + 1)) {
      let place = places.find((known) => isSamePlace(known, entry))
      if (place === undefined) {
        place = { ...entry, next: [], node: undefined }
        places.push(place)
      }
      places = place.next
    }
    const place: Place<Facts> = { message: node.message, own: node, next: [], node }
    this.#placeOf.set(node, place)
    places.push(place)
  }

  /** The node with the longest conversation that `messages` continue with at least one more; the first of equals. */
  find(messages: readonly ChatMessage[]): ConversationNode<Facts> | undefined {
    let found: ConversationNode<Facts> | undefined
    let places: readonly Place<Facts>[] = this.#first
    // The last message is the new one that a continuation needs.
    for (const message of messages.slice(0, -1)) {
      const [only] = places
      if (only !== undefined && places.length === 1) {
        // Nearly all of a long history.
        if (!matches(only, message)) break
        found = only.node ?? found
        places = only.next
        continue
      }
      const matching = places.filter((place) => matches(place, message))
      if (matching.length === 0) break
      const nodes = matching.flatMap(({ node }) => node ?? []).toSorted((a, b) => a.index - b.index)
      found = nodes[0] ?? found
      places = matching.length === 1 ? (matching[0]?.next ?? []) : matching.flatMap(({ next }) => next)
    }
    return found
  }

  /** Whether any conversation begins with this message. */
  knows(message: ChatMessage): boolean {
    return this.#first.some((place) => matches(place, message))
  }
}

function isSamePlace<Facts>(place: Place<Facts>, entry: Entry<Facts>): boolean {
  return place.own === entry.own && (entry.own !== undefined || sameJson(place.message, entry.message))
}

function matches<Facts>({ message, own }: Place<Facts>, sent: ChatMessage): boolean {
  return own === undefined ? sameJson(message, sent) : isEchoOf(message, sent)
}
