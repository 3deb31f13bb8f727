import { expect, test } from "vitest"

import type { CompletionDelta } from "../inference-server.ts"
import { OpenAiStream } from "./openai-stream.ts"

test.each([
  ["lists them", { token_ids: [5, 6], logprobs: { tokens: ["a", "b"], token_logprobs: [-1, -2] } }, [5, 6]],
  ["spells them", { logprobs: { tokens: ["token_id:5", "token_id:6"], token_logprobs: [-1, -2] } }, [5, 6]],
  ["has texts only", { logprobs: { tokens: ["token_id:5", "b"], token_logprobs: [-1, -2] } }, undefined],
  ["has neither", {}, undefined],
])("a piece has the ids of its tokens where the server %s", (_how, choice, expected) => {
  const deltas: CompletionDelta[] = []
  const stream = new OpenAiStream((delta) => deltas.push(delta))
  stream.add({ choices: [{ index: 0, text: "ab", finish_reason: null, ...choice }] })
  expect(deltas.map(({ tokenIds }) => tokenIds)).toEqual([expected])
})
