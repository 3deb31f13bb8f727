import { AtroposError } from "../../runtime/errors.ts"
import { gemma4 } from "./formats/gemma4.ts"
import { HarmonyParser, writeHarmony } from "./formats/harmony.ts"
import { deepseekV32, minimaxM2 } from "./formats/invoke.ts"
import { granite, hermes, internlm, jamba, llama3Json, phi4Mini, xlam } from "./formats/json.ts"
import { mistral, mistralV11 } from "./formats/mistral.ts"
import { llama4Pythonic, olmo3, pythonic } from "./formats/pythonic.ts"
import { deepseekV3, deepseekV31, kimiK2 } from "./formats/sections.ts"
import { glm45, glm47, qwen3Coder, seedOss } from "./formats/tagged.ts"
import { ToolCallParser, type ToolCallStream } from "./parser.ts"
import type { FunctionTool, ParsedToolCalls, ToolCall, ToolCallFormat } from "./tool-call.ts"

const formats: readonly ToolCallFormat[] = [
  hermes,
  llama3Json,
  pythonic,
  llama4Pythonic,
  mistral,
  mistralV11,
  qwen3Coder,
  deepseekV3,
  deepseekV31,
  deepseekV32,
  granite,
  internlm,
  glm45,
  glm47,
  kimiK2,
  xlam,
  jamba,
  phi4Mini,
  minimaxM2,
  seedOss,
  gemma4,
  olmo3,
]

const byName = new Map(formats.map((format) => [format.name, format]))

/** Names of the formats, as vLLM's `--tool-call-parser` spells them where it has them. */
export const toolCallFormats: readonly string[] = [...byName.keys(), "harmony"]

export function isToolCallFormat(name: string): boolean {
  return toolCallFormats.includes(name)
}

/** A parser for text that arrives in chunks. */
export function createToolCallParser(format: string, tools: readonly FunctionTool[] = []): ToolCallStream {
  return format === "harmony" ? new HarmonyParser() : new ToolCallParser(findFormat(format), tools)
}

/** The calls in a whole text; when none is complete, all of it is content. */
export function parseToolCalls(format: string, text: string, tools: readonly FunctionTool[] = []): ParsedToolCalls {
  const parser = createToolCallParser(format, tools)
  parser.push(text)
  parser.end()
  return parser.result()
}

/** The text of calls as the family's models write it; parsing it gives the calls back. */
export function writeToolCalls(
  format: string,
  calls: readonly ToolCall[],
  tools: readonly FunctionTool[] = [],
): string {
  return format === "harmony" ? writeHarmony(calls) : findFormat(format).write(calls, tools)
}

function findFormat(name: string): ToolCallFormat {
  const format = byName.get(name)
  if (format !== undefined) return format
  throw new AtroposError(
    "bad-option",
    `unknown tool-call format ${JSON.stringify(name)}; there are ${toolCallFormats.join(", ")}`,
  )
}
