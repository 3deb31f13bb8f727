import fc from "fast-check"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"

import { createToolCallParser, parseToolCalls, toolCallFormats, writeToolCalls } from "./formats.ts"
import type { ToolCall } from "./tool-call.ts"

const vectors = new URL("../../../../../conformance/vectors/tool-calls.jsonl", import.meta.url)
const texts = readFileSync(vectors, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { format: string; text: string })

function parseInPieces(format: string, pieces: readonly string[]): { content: string | null; calls: ToolCall[] } {
  const parser = createToolCallParser(format)
  const deltas = [...pieces.map((piece) => parser.push(piece)), parser.end()]
  const content = deltas.map((delta) => delta.content).join("")
  return { content: content === "" ? null : content, calls: deltas.flatMap((delta) => delta.calls) }
}

function cut(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)), text.length].toSorted((a, b) => a - b)
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end))
}

describe("tool-call parsers", () => {
  it("find the same calls and content for every way of cutting a text, broken ones included", () => {
    const places = fc.array(fc.nat(), { maxLength: 12 })
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.constantFrom(...texts),
        fc.nat(),
        fc.nat(),
        places,
        (one, other, drop, length, cuts) => {
          // Two texts with a piece taken out: calls that stand beside broken ones.
          const joined = `${one.text}\n${other.text}`
          const start = drop % joined.length
          const text = joined.slice(0, start) + joined.slice(start + (length % 30))
          expect(parseInPieces(one.format, cut(text, cuts))).toEqual(parseToolCalls(one.format, text))
        },
      ),
      { numRuns: 3000 },
    )
  })

  it("hand out every byte of a text that holds no call", () => {
    fc.assert(
      fc.property(fc.constantFrom(...toolCallFormats), fc.string({ unit: "binary" }), (format, text) => {
        const plain = text.replaceAll(/[[\]{}<`]/g, "")
        const parsed = parseToolCalls(format, plain)
        expect(parsed).toEqual({ content: plain.trim() === "" ? null : plain, calls: [] })
      }),
    )
  })

  // Markup that a format uses for itself can't stand in its own strings.
  const word = fc
    .stringMatching(/^[A-Za-z0-9 äß日.,;'\\"!?-]{0,20}$/)
    .filter((text) => text.trim() === text && text !== "")
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      word,
      fc.integer({ min: -1e6, max: 1e6 }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), tie("value"), { maxKeys: 3 }),
    ),
  })).value
  const call = fc.record({
    name: fc.stringMatching(/^[a-z][a-z0-9_]{0,12}$/),
    arguments: fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), value, { maxKeys: 4 }),
  })

  it.each(toolCallFormats)("%s: calls that were written are found again", (format) => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 3 }), (calls) => {
        const tools = calls.map((one) => ({
          type: "function" as const,
          function: {
            name: one.name,
            parameters: {
              properties: Object.fromEntries(
                Object.entries(one.arguments).map(([key, item]) => [key, { type: jsonType(item) }]),
              ),
            },
          },
        }))
        // One schema for each name: of equal names the first counts.
        fc.pre(new Set(calls.map((one) => one.name)).size === calls.length)
        const written = writeToolCalls(
          format,
          calls.map((one) => ({ name: one.name, arguments: JSON.stringify(one.arguments) })),
          tools,
        )
        const parsed = parseToolCalls(format, written, tools)
        expect(parsed.content).toBeNull()
        expect(
          parsed.calls.map((one) => ({ name: one.name, arguments: JSON.parse(one.arguments) as unknown })),
        ).toEqual(calls)
      }),
      { numRuns: 200 },
    )
  })

  it("keeps the model's spelling of numbers and the order of keys in JSON formats", () => {
    const text = '<tool_call>\n{"name": "f", "arguments": {"10": 1.0, "2": 12345678901234567890}}\n</tool_call>'
    expect(parseToolCalls("hermes", text).calls).toEqual([
      { name: "f", arguments: '{"10": 1.0, "2": 12345678901234567890}' },
    ])
  })

  const tools = [
    {
      type: "function" as const,
      function: {
        name: "f",
        parameters: {
          properties: {
            list: { type: "array" },
            map: { type: "object" },
            text: { type: "string" },
            on: { type: "boolean" },
          },
        },
      },
    },
  ]

  it.each([
    ["seed_oss", (name: string, value: string) => `<parameter=${name}>${value}</parameter>`],
    ["qwen3_coder", (name: string, value: string) => `<parameter=${name}>\n${value}\n</parameter>`],
  ])(
    "%s: takes the lists and objects of Python that its template prints, for parameters of those types",
    (format, tag) => {
      const parameters = [
        tag("list", "['it\\'s', \"b\", None, 1.0]"),
        tag("map", "{'k': [True, {'z': None}]}"),
        tag("text", "['a']"),
        tag("on", "True"),
      ]
      const body = `<function=f>\n${parameters.join("\n")}\n</function>`
      const text = format === "seed_oss" ? `<seed:tool_call>\n${body}\n</seed:tool_call>` : body
      expect(parseToolCalls(format, text, tools).calls).toEqual([
        {
          name: "f",
          arguments: `{"list": ["it's", "b", null, 1.0], "map": {"k": [true, {"z": null}]}, "text": "['a']", "on": true}`,
        },
      ])
      const broken = text.replace("'b'", "'b").replace("{'k':", "{k:")
      expect(parseToolCalls(format, broken, tools).calls[0]?.arguments).toContain(`"map": "{k: [True, {'z': None}]}"`)
    },
  )

  it("gemma4: reads the None that its template prints for null", () => {
    const text = '<|tool_call>call:f{note:None,list:[1,None],name:<|"|>None<|"|>}<tool_call|>'
    expect(parseToolCalls("gemma4", text).calls).toEqual([
      { name: "f", arguments: '{"note": null, "list": [1, null], "name": "None"}' },
    ])
  })

  it.each(["<|python_start|><|python_end|>", "<|python_start|>", "<|python_tag|>"])(
    "llama3_json: keeps %s before a call out of the content, in pieces too",
    (tags) => {
      const text = `Look:\n${tags}{"name": "f", "parameters": {"a": 1}}`
      const expected = { content: "Look:", calls: [{ name: "f", arguments: '{"a": 1}' }] }
      expect(parseToolCalls("llama3_json", text)).toEqual(expected)
      expect(parseInPieces("llama3_json", text.split(""))).toEqual(expected)
    },
  )

  it.each([
    ["pythonic", "<|tool_call_start|>"],
    ["llama4_pythonic", "<|python_start|>"],
  ])("%s: keeps the token that opens a list out of the content, in pieces too", (format, token) => {
    const text = `Look: ${token}[f(a='x')]`
    const expected = { content: "Look:", calls: [{ name: "f", arguments: '{"a": "x"}' }] }
    expect(parseToolCalls(format, text)).toEqual(expected)
    expect(parseInPieces(format, text.split(""))).toEqual(expected)
    expect(parseToolCalls(format, `${token} none`)).toEqual({ content: `${token} none`, calls: [] })
  })

  it("takes time in proportion to a hostile text's length", () => {
    const deep = `<tool_call>{"name": "f", "arguments": ${"[".repeat(100_000)}`
    expect(parseToolCalls("hermes", deep).calls).toEqual([])
    const many = "<tool_call>{".repeat(20_000)
    expect(parseToolCalls("hermes", many).calls).toEqual([])
    const brackets = "[f(a=".repeat(20_000)
    expect(parseToolCalls("pythonic", brackets).calls).toEqual([])
    expect(parseToolCalls("llama3_json", "{".repeat(50_000)).calls).toEqual([])
  })
})

function jsonType(item: unknown): string {
  if (item === null) return "null"
  if (Array.isArray(item)) return "array"
  return typeof item
}
