import { readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { toolCallFormatOf } from "./tool-call-format.ts"
import { isToolCallFormat } from "./tool-calls/formats.ts"

const templates = new URL("../../../../conformance/vectors/templates/jinja/", import.meta.url)

test.each([
  ["hermes", "hermes"],
  ["qwen2.5", "hermes"],
  ["qwq", "hermes"],
  ["gpt-oss", "harmony"],
  ["llama-3.1", "llama3_json"],
  ["text-only", undefined],
])("the template of %s shows the format %s", (name, format) => {
  expect(toolCallFormatOf(readFileSync(new URL(`${name}.jinja`, templates), "utf8"))).toBe(format)
  if (format !== undefined) expect(isToolCallFormat(format)).toBe(true)
})

test.each([
  ["of functions with JSON arguments", "<|python_tag|><function=name>{{ arguments }}</function>", undefined],
  ["of functions with parameters in tags", "<tool_call>\n<function=f>\n<parameter=p>", "qwen3_coder"],
  ["of JSON lines between tags", "<tool_calls>\n{...}\n</tool_calls><end_of_sentence>", undefined],
  ["with a marker before every tag", "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=", undefined],
  ["that tells Llama 4 to write Python", "<|header_start|>system [func_name1(a=1)]", "llama4_pythonic"],
  ["that tells another model to write Python", '<|start_header_id|> "parameters" [func_name1(a=1)]', "pythonic"],
  ["of LFM 2", "<|tool_call_start|>[f(a=1)]<|tool_call_end|>", "pythonic"],
  ["of Llama 4 with JSON calls", '<|python_start|>{"name": f, "parameters": p}', "llama3_json"],
  ["of Llama 4 with Python calls", "<|python_start|>[f(a=1)]<|python_end|>", "llama4_pythonic"],
])("a template %s shows its own format, or none", (_, source, format) => {
  expect(toolCallFormatOf(source)).toBe(format)
})
