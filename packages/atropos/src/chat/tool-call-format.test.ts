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
