import fc from "fast-check"
import { expect, test } from "vitest"
import { z } from "zod"

import { environmentConfig } from "../../environment/config/environment-config.ts"
import { readNamespacedFlags } from "./read-namespaced-flags.ts"
import { type Configuration, resolveConfiguration } from "./resolve-configuration.ts"

const config = environmentConfig.extend({
  anything: z.union([z.number(), z.string(), z.boolean()]).default("").describe("of several kinds"),
  list: z.array(z.int()).default([]).describe("numbers"),
  object: z.record(z.string(), z.number()).default({}).describe("numbers by name"),
  nested_name: z.string().default("").describe("written in snake_case"),
})

function resolve(argv: readonly string[], file: unknown = null, defaults: Record<string, unknown> = {}): Configuration {
  const { flags, positionals } = readNamespacedFlags(argv)
  expect(positionals).toEqual([])
  return resolveConfiguration({ about: { name: "tiny", config, defaults }, flags, file })
}

const env = (argv: readonly string[], file: unknown = null): Record<string, unknown> => resolve(argv, file).env

test("any text after = is that text, but for the two that are null", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const expected = text === "None" || text === "null" ? null : text
      expect(env([`--env.wandb_name=${text}`])["wandbName"]).toBe(expected)
    }),
  )
})

test("any number is that number, also a negative one after a space", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e9, max: 1e9 }),
      fc.double({ noNaN: true, min: -1e9, max: 1e9 }),
      (whole, number) => {
        const read = env(["--env.total_steps", String(whole), "--env.inference_weight", String(number)])
        expect(read["totalSteps"]).toBe(whole)
        expect(read["inferenceWeight"]).toBe(Number(String(number)))
      },
    ),
  )
})

test("lists and objects are JSON, and a file and a flag say the same", () => {
  const objects = fc.dictionary(fc.string(), fc.integer()).filter((object) => !("__proto__" in object))
  fc.assert(
    fc.property(fc.array(fc.integer()), objects, (list, object) => {
      const flags = env([`--env.list=${JSON.stringify(list)}`, `--env.object=${JSON.stringify(object)}`])
      expect(flags["list"]).toEqual(list)
      expect(flags["object"]).toEqual(object)
      expect(env([], { env: { list, object } })).toEqual(flags)
    }),
  )
})

test("a field of several kinds takes what JSON says it is, else the text", () => {
  for (const [text, value] of [
    ["1", 1],
    ["true", true],
    ["1.5", 1.5],
    ['"1"', "1"],
    ["hello", "hello"],
  ] as const) {
    expect(env([`--env.anything=${text}`])["anything"]).toBe(value)
  }
})

test("a field counts under every spelling, the last of several", () => {
  for (const flag of ["--env.max_token_length", "--env.max-token-length", "--env.maxTokenLength"]) {
    expect(env([flag, "7"])["maxTokenLength"]).toBe(7)
  }
  for (const flag of ["--env.nested_name", "--env.nested-name"]) expect(env([flag, "x"])["nested_name"]).toBe("x")
  expect(env(["--env.seed=1", "--env.seed=2"])["seed"]).toBe(2)
  expect(env([], { env: { maxTokenLength: 9, "nested-name": "y" } })).toMatchObject({
    maxTokenLength: 9,
    nested_name: "y",
  })
})

test("flags stand over the file, the file over the environment's defaults, field by field", () => {
  const defaults = { group_size: 2, totalSteps: 3, maxTokenLength: 4 }
  const file = { env: { total_steps: 30, max_token_length: 40 } }
  const resolved = resolve(["--env.max_token_length", "400"], file, defaults).env
  expect(resolved).toMatchObject({ groupSize: 2, totalSteps: 30, maxTokenLength: 400, maxNumWorkers: -1 })
})

test("sections that are no mappings, and defaults that are no fields, are errors with their place", () => {
  expect(() => resolve([], { env: [1] })).toThrow("env has to be a mapping")
  expect(() => resolve([], "text")).toThrow("the YAML file has to be a mapping")
  expect(() => resolve([], { openai: [3] })).toThrow("openai has to be a mapping")
  expect(() => resolve([], null, { group_sise: 2 })).toThrow(
    "default of group_sise, which is no field, did you mean group_size?",
  )
  expect(() => resolve([], null, { group_size: 0 })).toThrow(
    "the environment's default of group_size takes a whole number from 1",
  )
})
