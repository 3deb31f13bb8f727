// Thoughts as models spell them in their text.
import { thoughtOf, type ChatMessage } from "../messages.ts"

const thoughtPatterns: readonly RegExp[] = [
  /(?:<think>|^)(?:(?!<think>)[\s\S])*?<\/think>/g,
  /<seed:think>[\s\S]*?<\/seed:think>/g,
  /<\|START_THINKING\|>[\s\S]*?<\|END_THINKING\|>/g,
  /\[THINK\][\s\S]*?\[\/THINK\]/g,
  /<\|channel\|>analysis<\|message\|>[\s\S]*?(?:<\|end\|>|$)/g,
  /<\|channel>thought[\s\S]*?<channel\|>/g,
]

/** The pieces of a sample's text that are thoughts, with their marks; the message's own thought where none are known. */
export function thoughtPieces(text: string, message: ChatMessage | undefined): string[] {
  const pieces = thoughtPatterns.flatMap((pattern) => text.match(pattern) ?? [])
  if (pieces.length > 0 || message === undefined) return pieces
  const thought = thoughtOf(message)
  return thought.trim() === "" ? [] : [thought]
}
