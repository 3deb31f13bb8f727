import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ScoredGroup } from "../messages.ts"
import { encodeGroup } from "./encode-group.ts"

const small: ScoredGroup = { tokens: [[1, 2], [3]], masks: [[-100, 2], [3]], scores: [1, -0.5] }

describe("a group as JSON", () => {
  it("is compact, has every key, and writes floats as floats", () => {
    expect(encodeGroup({ ...small, inference_logprobs: [[1, -1e-7], [-0]], env_id: 3, advantages: [] })).toBe(
      '{"tokens":[[1,2],[3]],"masks":[[-100,2],[3]],"scores":[1.0,-0.5],"advantages":[],"ref_logprobs":null,' +
        '"messages":null,"generation_params":null,"inference_logprobs":[[1.0,-1e-7],[-0.0]],"overrides":null,' +
        '"group_overrides":null,"images":null,"env_id":3,"distill_token_ids":null,"distill_logprobs":null}',
    )
  })

  it("reads back as it was", () => {
    const integers = fc.array(fc.array(fc.maxSafeInteger()))
    const float = fc.double({ noNaN: true, noDefaultInfinity: true })
    const group = fc.record({
      tokens: integers,
      masks: integers,
      scores: fc.array(float),
      advantages: fc.option(fc.array(fc.array(float))),
      ref_logprobs: fc.option(fc.array(fc.array(float))),
      messages: fc.option(fc.array(fc.array(fc.record({ role: fc.string(), content: fc.string({ unit: "binary" }) })))),
      generation_params: fc.option(fc.dictionary(fc.string(), float)),
      inference_logprobs: fc.option(fc.array(fc.array(float))),
      overrides: fc.option(fc.array(fc.dictionary(fc.string(), float))),
      group_overrides: fc.option(fc.dictionary(fc.string(), fc.boolean())),
      images: fc.option(fc.array(fc.string())),
      env_id: fc.option(fc.nat()),
      distill_token_ids: fc.option(fc.array(integers)),
      distill_logprobs: fc.option(fc.array(fc.array(fc.array(float)))),
    })
    fc.assert(
      fc.property(group, (value) => {
        expect(JSON.stringify(JSON.parse(encodeGroup(value)))).toBe(JSON.stringify(value))
      }),
    )
  })

  it.each<[string, Partial<ScoredGroup>, RegExp]>([
    ["NaN among scores", { scores: [1, NaN] }, /scores\[1\] is no finite number: NaN/],
    ["Infinity", { inference_logprobs: [[1, 2], [-Infinity]] }, /inference_logprobs\[1\]\[0\] is no finite number/],
    ["a fraction among tokens", { tokens: [[1, 2], [3.5]] }, /tokens\[1\]\[0\] is no integer: 3\.5/],
    ["a hole", { masks: [[-100, 2], [undefined as unknown as number]] }, /masks\[1\]\[0\] is no integer: undefined/],
    ["a number for a row", { masks: [[-100, 2], 3 as unknown as number[]] }, /masks\[1\] is no list/],
    [
      "NaN in messages",
      { messages: [[{ role: "user", content: NaN }]] },
      /messages is no finite number: NaN under "content"/,
    ],
    ["a big integer", { generation_params: { seed: 3n } }, /generation_params is .*BigInt/],
  ])("is refused with its place when it holds %s", (_what, part, message) => {
    expect(() => encodeGroup({ ...small, ...part })).toThrow(message)
  })
})
