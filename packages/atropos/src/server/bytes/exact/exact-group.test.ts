import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { groupText } from "../fuzz/mutations.ts"
import { groupFields } from "../group-fields.ts"
import { checkJson } from "../json/json-check.ts"
import type { Problem } from "../json/problems.ts"
import { checkGroup, type CheckedGroup } from "./exact-group.ts"

function check(text: string, sequencesPerGroup = 100): CheckedGroup | Problem[] {
  const bytes = Buffer.from(text)
  checkJson(bytes, 400)
  return checkGroup(bytes, 0, bytes.length, ["body"], sequencesPerGroup)
}

function canonical(text: string): string {
  const checked = check(text)
  if (Array.isArray(checked)) throw new Error(JSON.stringify(checked))
  return Buffer.from(checked.json).toString()
}

function faults(text: string): string[] {
  const checked = check(text)
  if (!Array.isArray(checked)) throw new Error(Buffer.from(checked.json).toString())
  return checked.map(({ type, loc }) => `${type} ${loc.slice(1).join(".")}`)
}

/** A minimal group with further members. */
const group = (...members: string[]): string =>
  `{${['"tokens":[[1,2]]', '"masks":[[-100,2]]', '"scores":[0.5]', ...members].join(",")}}`

const nulls =
  '"advantages":null,"ref_logprobs":null,"messages":null,"generation_params":null,"inference_logprobs":null,"overrides":null,"group_overrides":null,"images":null,"env_id":null,"distill_token_ids":null,"distill_logprobs":null'

describe("a group on the exact path", () => {
  test("leaves compact, with all fourteen keys in the order they came and null for the others", () => {
    expect(canonical(`{ "scores" : [ 1 ] ,"masks":[[ ]], "tokens":[[]] }`)).toBe(
      `{"scores":[1.0],"masks":[[]],"tokens":[[]],${nulls}}`,
    )
  })

  test("has the content that JSON.parse sees", () => {
    fc.assert(
      fc.property(groupText, (text) => {
        const checked = check(text)
        // Messages without role or content are refused.
        if (Array.isArray(checked)) return
        const sent = JSON.parse(text) as Record<string, unknown>
        const kept = JSON.parse(Buffer.from(checked.json).toString()) as Record<string, unknown>
        for (const { name } of groupFields) expect(kept[name]).toEqual(sent[name] ?? null)
        expect(Object.keys(kept)).toHaveLength(groupFields.length)
      }),
      { numRuns: 300 },
    )
  })

  test("keeps free-form values as they are spelled, but for white space and repeated keys", () => {
    const value = String.raw`{"big":123456789012345678901234567890,"one":1.0,"e":1E+2,"text":"\u00e9 \/ é","deep":[[{}],[]]}`
    expect(canonical(group(`"images":${value}`))).toContain(`"images":${value}`)
    expect(canonical(group('"images": { "a" : 1, "b" : [ ], "a" : { "c" : 2, "c" : 3 } }'))).toContain(
      '"images":{"b":[],"a":{"c":3}}',
    )
    expect(canonical(group(String.raw`"images":{"a":1,"\u0061":2}`))).toContain(String.raw`"images":{"\u0061":2}`)
  })

  test("counts the last of repeated keys, and what was wrong with the others does not matter", () => {
    expect(canonical(group('"scores":[NaN]', '"scores":[2]'))).toContain('"scores":[2.0]')
    expect(canonical(group('"images":{"a":[NaN],"a":1}'))).toContain('"images":{"a":1}')
    expect(faults(group('"images":{"a":1,"a":[NaN]}'))).toEqual(["finite_number images.a.0"])
  })

  test("drops unknown keys, whatever they hold", () => {
    expect(canonical(group('"loss":NaN', String.raw`"\ud800":"\ud800"`, '"TOKENS":5'))).toBe(
      `${group().slice(0, -1)},${nulls}}`,
    )
  })

  test("tells its env, also one that no server gave", () => {
    const envOf = (json: string): unknown => {
      const checked = check(group(`"env_id":${json}`))
      return Array.isArray(checked) ? checked : checked.envId
    }
    expect(["3", '"3"', "3.0", "true", "null"].map(envOf)).toEqual([3, 3, 3, 1, null])
    expect(["-1", "1e17", "9007199254740993"].map(envOf)).toEqual(["unknown", "unknown", "unknown"])
  })

  test("names every fault by its place, and stops after ten", () => {
    expect(faults('{"tokens":5,"masks":[[1.5,"x"],null],"scores":[null,"high"]}')).toEqual([
      "list_type tokens",
      "int_from_float masks.0.0",
      "int_parsing masks.0.1",
      "list_type masks.1",
      "float_type scores.0",
      "float_parsing scores.1",
    ])
    expect(faults(`{"tokens":[[${Array(50).fill("null").join(",")}]],"masks":[],"scores":[]}`)).toHaveLength(10)
    expect(faults("{}")).toEqual(["missing tokens", "missing masks", "missing scores"])
    expect(faults("[]")).toEqual(["model_attributes_type "])
  })

  test("wants role and content of messages, or tool calls of an assistant", () => {
    const messages = (json: string): string => group(`"messages":[[${json}]]`)
    for (const message of [
      '{"role":null,"content":5}',
      '{"role":"assistant","tool_calls":[{}]}',
      '{"tool_calls":[1],"role":"assistant","x":1}',
    ]) {
      expect(canonical(messages(message))).toContain(message)
    }
    for (const message of [
      "{}",
      '{"role":"user"}',
      '{"content":1}',
      '{"role":"user","tool_calls":[1]}',
      '{"role":"assistant","tool_calls":[]}',
      '{"role":"assistant","tool_calls":[1],"tool_calls":[]}',
      '{"tool_calls":[1]}',
    ]) {
      expect(faults(messages(message))).toEqual(["value_error messages.0.0"])
    }
    expect(faults(messages("5"))).toEqual(["dict_type messages.0.0"])
  })

  test("names messages that are texts or objects as the original does, which walks over them", () => {
    const messages = (json: string): string[] => faults(group(`"messages":${json}`))
    for (const json of ['"x"', '{"role":1}']) expect(messages(json)).toEqual(["value_error messages"])
    for (const json of ['["x"]', '[{"role":"user","content":1}]']) {
      expect(messages(json)).toEqual(["value_error messages.0"])
    }
    for (const json of ['[["x"]]', '[[["role"]]]']) expect(messages(json)).toEqual(["value_error messages.0.0"])
    for (const json of ['""', "{}", "5", "true"]) expect(messages(json)).toEqual(["list_type messages"])
  })

  test("compares lengths with tokens and says both", () => {
    const lengths = (fields: string): string[] => faults(`{"tokens":[[1,2],[3]],${fields}}`)
    const right = '"masks":[[1,2],[3]],"scores":[1,2]'
    expect(lengths('"masks":[[1,2]],"scores":[1]')).toEqual(["length_mismatch masks", "length_mismatch scores"])
    expect(lengths(`${right},"inference_logprobs":[[1],[1,2]]`)).toEqual([
      "length_mismatch inference_logprobs.0",
      "length_mismatch inference_logprobs.1",
    ])
    expect(lengths(`${right},"advantages":[[1]]`)).toEqual(["length_mismatch advantages"])
    expect(lengths(`${right},"distill_logprobs":[[[1,2],[]],[]]`)).toEqual(["length_mismatch distill_logprobs.1"])
    const checked = check('{"tokens":[[1,2]],"masks":[[1]],"scores":[1]}')
    expect(Array.isArray(checked) && checked[0]?.msg).toBe(
      "masks[0] has 1 entries but tokens[0] has 2; send one for each token",
    )
    expect(canonical(`{"tokens":[[1]],"masks":[[1]],"scores":[1],"advantages":[[1,2,3]],"ref_logprobs":[]}`)).toContain(
      '"advantages":[[1.0,2.0,3.0]],"ref_logprobs":[]',
    )
  })

  test("may not be empty or have more sequences than the bound", () => {
    expect(faults('{"tokens":[],"masks":[],"scores":[]}')).toEqual(["too_short tokens"])
    const three = '{"tokens":[[],[],[]],"masks":[[],[],[]],"scores":[1,2,3]}'
    expect(check(three, 3)).toMatchObject({ size: 3 })
    expect(check(three, 2)).toMatchObject([{ type: "too_long", loc: ["body", "tokens"] }])
  })

  test("echoes short inputs exactly and long ones by their beginning", () => {
    const inputOf = (json: string): unknown => {
      const checked = check(group(`"env_id":${json}`))
      return Array.isArray(checked) ? JSON.parse(checked[0]?.input ?? "") : checked
    }
    expect(inputOf('{"a": [1, "x"]}')).toEqual({ a: [1, "x"] })
    expect(inputOf("[NaN]")).toBe("[NaN]")
    expect(inputOf(String.raw`["\ud800"]`)).toBe(String.raw`["\ud800"]`)
    expect(inputOf(`"${"é".repeat(5000)}"`)).toMatch(/^"é{50,100}… \(10002 bytes\)$/)
  })
})
