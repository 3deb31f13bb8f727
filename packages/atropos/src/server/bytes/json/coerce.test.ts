import { describe, expect, test } from "vitest"
import { coerceFloat, coerceInteger } from "./coerce.ts"

// What pydantic 2.13 makes of these values, but for the numbers that it lets leave the range of a double.

const integer = (json: string): string => {
  const bytes = Buffer.from(json)
  const result = coerceInteger(bytes, 0, bytes.length)
  return result.ok ? result.text : result.type
}
const float = (json: string): string => {
  const bytes = Buffer.from(json)
  const result = coerceFloat(bytes, 0, bytes.length)
  return result.ok ? result.text : result.type
}

describe("an integer", () => {
  test.each([
    ["5", "5"],
    ["-0", "0"],
    ["5.0", "5"],
    ["1e2", "100"],
    ["-1E2", "-100"],
    ["-0.0", "0"],
    ["true", "1"],
    ["false", "0"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ["9.223372036854775e18", "9223372036854774784"],
    ["0.1e1", "1"],
    ['"5"', "5"],
    ['"  5 "', "5"],
    ['"\\t5\\n"', "5"],
    ['"\u00a05"', "5"],
    ['"\u20035"', "5"],
    ['"5\u0085"', "5"],
    ['"+5"', "5"],
    ['"05"', "5"],
    ['"-07"', "-7"],
    ['"1_0"', "10"],
    ['"5.0"', "5"],
    ['"5.00"', "5"],
    ['"1_0.0"', "10"],
    ['"-0"', "0"],
    ['"-0.0"', "0"],
    ['"00"', "0"],
    ['"0_0"', "0"],
    [`"${"9".repeat(30)}"`, "9".repeat(30)],
    [`"${"1".repeat(4300)}"`, "1".repeat(4300)],
  ])("is taken from %s", (json, text) => {
    expect(integer(json)).toBe(text)
  })

  test.each([
    ["1.5", "int_from_float"],
    ["1e-1", "int_from_float"],
    ["9223372036854775808.0", "int_parsing_size"],
    ["1e20", "int_parsing_size"],
    ["-9223372036854775808.0", "int_parsing_size"],
    ["null", "int_type"],
    ["[]", "int_type"],
    ["{}", "int_type"],
    ["NaN", "finite_number"],
    ["-Infinity", "finite_number"],
    ["1e999", "finite_number"],
    ...[
      "",
      "  ",
      "a",
      "--5",
      "+ 5",
      "1__0",
      "_1",
      "1_",
      "5.",
      ".0",
      "5.0_0",
      "5.1",
      "1e3",
      "0x10",
      "5 .0",
      "١",
      "\ufeff5",
      "\\u001c5",
      "nan",
      "True",
    ].map((text) => [`"${text}"`, "int_parsing"]),
    [`"${"9".repeat(4301)}"`, "int_parsing_size"],
    ['"\\ud800"', "string_unicode"],
  ] as [string, string][])("is not taken from %s", (json, type) => {
    expect(integer(json)).toBe(type)
  })
})

describe("a float", () => {
  test.each([
    ["1", "1.0"],
    ["-2", "-2.0"],
    ["-0", "0.0"],
    ["-0.0", "-0.0"],
    ["0.1e1", "0.1e1"],
    ["1E5", "1E5"],
    ["5e-324", "5e-324"],
    ["-0.12345678901234567", "-0.12345678901234567"],
    ["123456789012345678", "123456789012345678.0"],
    ["true", "1.0"],
    ["false", "0.0"],
    ['"1.5"', "1.5"],
    ['" .5"', "0.5"],
    ['"5."', "5.0"],
    ['"1e3"', "1000.0"],
    ['"1_000"', "1000.0"],
    ['"+1"', "1.0"],
    ['"1.5e-3"', "0.0015"],
    ['"1.e5"', "100000.0"],
    ['"-.5"', "-0.5"],
    ['"1_0.0_1"', "10.01"],
    ['"1e1_0"', "10000000000.0"],
    ['"-0"', "-0.0"],
    ['"\u00a01.5"', "1.5"],
    ['"1e300"', "1e+300"],
    [`"${"0".repeat(5000)}"`, "0.0"],
  ])("is taken from %s", (json, text) => {
    expect(float(json)).toBe(text)
    expect(text).toMatch(/[.eE]/)
  })

  test.each([
    ["null", "float_type"],
    ["[]", "float_type"],
    ["{}", "float_type"],
    ["NaN", "finite_number"],
    ["1e999", "finite_number"],
    ["9".repeat(400), "finite_number"],
    ...["nan", "NaN", "inf", "-Infinity", "INF", "infinity", "+nan", "1e999", "1".repeat(400)].map((text) => [
      `"${text}"`,
      "finite_number",
    ]),
    ...[
      "",
      "  ",
      "high",
      "1e",
      "e1",
      ".e5",
      ".",
      "_1",
      "1_",
      "1__0",
      "0x1",
      "1 000",
      "1d",
      "1.5f",
      "snan",
      "nan(1)",
      "٣",
      "\ufeff1",
    ].map((text) => [`"${text}"`, "float_parsing"]),
    ['"\\udfff"', "string_unicode"],
  ] as [string, string][])("is not taken from %s", (json, type) => {
    expect(float(json)).toBe(type)
  })
})
