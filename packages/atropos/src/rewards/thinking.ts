/** The text behind the last `</think>` (lower case), or the whole text without one. */
export function afterThink(text: string): string {
  const end = text.lastIndexOf("</think>")
  return end === -1 ? text : text.slice(end + "</think>".length)
}

/**
 * The answer behind the thinking when there is exactly one think block: one `<think>`, one `</think>` (any case), in
 * this order. Undefined otherwise.
 */
export function answerAfterThink(text: string): string | undefined {
  const openings = [...text.matchAll(/<think>/gi)]
  const closings = [...text.matchAll(/<\/think>/gi)]
  const [opening, closing] = [openings[0], closings[0]]
  if (openings.length !== 1 || closings.length !== 1 || opening === undefined || closing === undefined) return undefined
  return opening.index < closing.index ? text.slice(closing.index + closing[0].length) : undefined
}

/** The whole `<think>…</think>` blocks of a text, in lower case. */
export interface SplitThinking {
  blocks: number
  /** Of the only block; empty when there is none or there are several. */
  thinking: string
  /** Trimmed text behind the only block; else the whole text as it is. */
  response: string
}

export function splitThinking(text: string): SplitThinking {
  const blocks = [...text.matchAll(/<think>([\s\S]*?)<\/think>/g)]
  const [only] = blocks
  if (blocks.length !== 1 || only === undefined) return { blocks: blocks.length, thinking: "", response: text }
  return { blocks: 1, thinking: only[1]?.trim() ?? "", response: text.slice(only.index + only[0].length).trim() }
}
