import type { InferenceMessage } from "../inference/inference-server.ts"

export interface FitTurnsOptions {
  /** Most tokens that the conversation may have. */
  maxTokens: number
  /** Tokens of a conversation, as the tokenizer's template writes it. */
  countTokens: (messages: readonly InferenceMessage[]) => number
  /** Turns at the end that always stay. @default 1 */
  keepTurns?: number
}

/**
 * A conversation within a budget of tokens: as many of its oldest turns are left out as need be. A turn begins with a
 * user message and goes with all that follows up to the next, so that calls stay with their responses; what stands
 * before the first turn (the system message) stays. Undefined when even the last turns are too long.
 */
export function fitTurns(
  messages: readonly InferenceMessage[],
  { maxTokens, countTokens, keepTurns = 1 }: FitTurnsOptions,
): InferenceMessage[] | undefined {
  const starts = messages.flatMap((message, index) => (message.role === "user" ? [index] : []))
  const head = messages.slice(0, starts[0] ?? messages.length)
  const without = (dropped: number): InferenceMessage[] => {
    const start = starts[dropped]
    return start === undefined ? [...head] : [...head, ...messages.slice(start)]
  }
  const fits = (dropped: number): boolean => countTokens(without(dropped)) <= maxTokens
  // Fewer turns never have more tokens: the least number to leave out is found by halving.
  let low = 0
  let high = Math.max(0, starts.length - Math.max(1, keepTurns))
  if (!fits(high)) return undefined
  while (low < high) {
    const middle = (low + high) >> 1
    if (fits(middle)) high = middle
    else low = middle + 1
  }
  return without(high)
}
