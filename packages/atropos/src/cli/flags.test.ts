import { expect, test } from "vitest"
import { z } from "zod"

import { describeFlags, parseFlags } from "./flags.ts"

const schema = z.object({
  port: z.int().min(0).default(8000).describe("port to listen on"),
  dataDir: z.string().optional().describe("folder"),
  mode: z.enum(["fast", "slow"]).default("fast").describe("how"),
  dry: z.boolean().default(false).describe("do nothing"),
  rate: z.number().nullable().default(null).describe("per second"),
})

const parse = (...argv: string[]): unknown => {
  const parsed = parseFlags(schema, argv)
  return "help" in parsed ? "help" : [parsed.options, parsed.positionals]
}
const standard = { port: 8000, mode: "fast", dry: false, rate: null }

test("flags come with a space or =, in kebab-case or snake_case, between positional arguments", () => {
  expect(parse("a", "--port", "9", "--data_dir=x", "b", "--data-dir", "y", "--", "--c")).toEqual([
    { ...standard, port: 9, dataDir: "y" },
    ["a", "b", "--c"],
  ])
})

test("switches stand alone, take a truth value, or are negated", () => {
  expect(parse("--dry", "x")).toEqual([{ ...standard, dry: true }, ["x"]])
  expect(parse("--dry", "off")).toEqual([standard, []])
  expect(parse("--dry=yes", "--no-dry")).toEqual([standard, []])
})

test("numbers may be negative, and null where the field takes it", () => {
  expect(parse("--rate", "-1.5")).toEqual([{ ...standard, rate: -1.5 }, []])
  expect(parse("--rate", "None")).toEqual([standard, []])
})

test("what is wrong is said with the flag, what it takes and what came", () => {
  expect(() => parse("--port", "-1")).toThrow('--port takes a whole number from 0, received "-1"')
  expect(() => parse("--port", "x")).toThrow('--port takes a whole number from 0, received "x"')
  expect(() => parse("--mode", "quick")).toThrow('--mode takes fast or slow, received "quick"')
  expect(() => parse("--prot", "1")).toThrow("unknown flag --prot, did you mean --port?")
  expect(() => parse("--port")).toThrow("--port needs a value")
  expect(parse("--help")).toBe("help")
})

test("a flag that is wider than the column has its description below", () => {
  const wide = z.object({
    level: z.enum(["debug", "information", "warning", "error"]).describe("least level"),
    a: z.int(),
  })
  expect(describeFlags(wide)).toMatch(
    /^ {2}--level debug\|information\|warning\|error\n {36}least level\n {2}--a int {27}\n/,
  )
})

test("help lists every flag with its type, description and default", () => {
  expect(describeFlags(schema)).toMatch(/--port int +port to listen on \(8000\)\n[^]*--mode fast\|slow +how \("fast"\)/)
})
