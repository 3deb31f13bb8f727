import { expect, test } from "vitest"

import { ThoughtSplitter } from "./thought-splitter.ts"

function split(...pieces: readonly string[]): { thought: string; text: string } {
  const splitter = new ThoughtSplitter()
  const parts = [...pieces.map((piece) => splitter.push(piece)), splitter.end()]
  return { thought: parts.map(({ thought }) => thought).join(""), text: parts.map(({ text }) => text).join("") }
}

test.each([
  ["a thought that the prompt began", "hm</think>\n\nYes", { thought: "hm", text: "Yes" }],
  ["a thought with its own beginning", "\n<think>\nhm\n</think> Yes ", { thought: "hm", text: "Yes " }],
  ["an empty thought", "<think>\n\n</think>\n\nYes", { thought: "", text: "Yes" }],
  ["text without the end of a thought", "<think>hm ", { thought: "", text: "<think>hm " }],
  ["a thought that speaks of another mark", "[THINK]</think>?[/THINK]Yes", { thought: "</think>?", text: "Yes" }],
  ["an answer that speaks of its mark", "hm</think>Say </think>", { thought: "hm", text: "Say </think>" }],
  ["several marks without a beginning: the commonest", "a[/THINK]b</think>c", { thought: "a[/THINK]b", text: "c" }],
  ["one that is not the commonest", "a[/THINK]b", { thought: "a", text: "b" }],
  ["no text after it", "<|START_THINKING|>hm<|END_THINKING|>\n", { thought: "hm", text: "" }],
])("splits %s, however it comes", (_what, text, expected) => {
  expect(split(text)).toEqual(expected)
  expect(split(...text.split(""))).toEqual(expected)
})
