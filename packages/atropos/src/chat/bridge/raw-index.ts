import type { ConversationNode } from "./conversation-node.ts"
import { pathTo } from "./conversation-node.ts"

export interface RawContinuation<Facts> {
  node: ConversationNode<Facts>
  /** What the prompt has beyond the node's sample; of a prompt of ids only the ids are known. */
  rest: { text: string } | { ids: readonly number[] }
  /** False where the sample ended in a token that the prompt leaves out. */
  verbatim: boolean
}

/** Finds the raw completion that a raw prompt goes on from: the longest that it begins with, the first of equals. */
export class RawIndex<Facts> {
  readonly #nodes: ConversationNode<Facts>[] = []

  add(node: ConversationNode<Facts>): void {
    if (node.chat === undefined) this.#nodes.push(node)
  }

  findText(prompt: string, decode: (ids: readonly number[]) => string): RawContinuation<Facts> | undefined {
    let best: { found: RawContinuation<Facts>; length: number } | undefined
    for (const node of this.#nodes) {
      if (!prompt.startsWith(node.text)) continue
      const after = prompt.slice(node.text.length)
      for (const { answer, verbatim } of [
        { answer: decode(node.ids), verbatim: true },
        { answer: node.answerText, verbatim: false },
      ]) {
        // A prompt that comes again asks for another answer, and one without the answer's end for the same to go on.
        if (answer === "" || (!verbatim && after.length === answer.length)) continue
        if (!after.startsWith(answer)) continue
        const length = node.text.length + answer.length
        if (best === undefined || length > best.length)
          best = { found: { node, rest: { text: after.slice(answer.length) }, verbatim }, length }
        break
      }
    }
    return best?.found
  }

  findIds(prompt: readonly number[]): RawContinuation<Facts> | undefined {
    let best: { node: ConversationNode<Facts>; length: number } | undefined
    for (const node of this.#nodes) {
      const length = node.promptLength + node.ids.length
      if (length > prompt.length || (best !== undefined && length <= best.length)) continue
      if (beginsWith(prompt, node)) best = { node, length }
    }
    return best === undefined
      ? undefined
      : { node: best.node, rest: { ids: prompt.slice(best.length) }, verbatim: true }
  }
}

function beginsWith<Facts>(prompt: readonly number[], node: ConversationNode<Facts>): boolean {
  let at = 0
  for (const { added, ids } of pathTo(node))
    for (const part of [added, ids]) {
      for (const [offset, id] of part.entries()) if (prompt[at + offset] !== id) return false
      at += part.length
    }
  return true
}
