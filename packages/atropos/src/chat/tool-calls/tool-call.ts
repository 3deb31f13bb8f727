/** A function tool as it stands in an OpenAI request. */
export interface FunctionTool {
  type: "function"
  function: { name: string; description?: string; parameters?: unknown }
}

/** One complete call found in a model's text. */
export interface ToolCall {
  name: string
  /** JSON text of an object: the model's own spelling where the format is JSON. */
  arguments: string
  /** The id the model wrote, in formats that have one. */
  id?: string
}

export interface ParsedToolCalls {
  /** The text before the first call, without the whitespace before it; null when there is none. */
  content: string | null
  calls: ToolCall[]
}

/**
 * What a format finds at a place where one of its markers stands.
 *
 * - calls: one complete unit (a call, or a list that stands or falls together) up to `end`
 * - "partial": the text so far may be the beginning of a unit
 * - resume: no unit begins here; the search goes on at `resume`
 *
 * Unless `final`, the first and the third are only given when every continuation of the text gives the same.
 */
export type Match = { calls: ToolCall[]; end: number } | "partial" | { resume: number }

export interface MatchOptions {
  tools: readonly FunctionTool[]
  /** Nothing follows the text. */
  final: boolean
  /** A complete call stands before this place, so a wrapper may be open. */
  continuing: boolean
}

/** How one family of models writes calls. */
export interface ToolCallFormat {
  readonly name: string
  /** Texts at which a unit can begin. */
  readonly markers: readonly string[]
  /** Characters one of which is the last of every unit; a chunk without them completes nothing. */
  readonly closers: string
  match(text: string, at: number, options: MatchOptions): Match
  /** The text of `calls` as the family writes it, so that parsing gives them back. */
  write(calls: readonly ToolCall[], tools: readonly FunctionTool[]): string
}
