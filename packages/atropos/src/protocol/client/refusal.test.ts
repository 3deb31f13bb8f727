import { expect, it } from "vitest"
import { describeRefusal } from "./refusal.ts"

const fault = (loc: (string | number)[], msg: string): object => ({ type: "x", loc, msg, input: "a secret" })

it.each<[string, string, string]>([
  [
    "a fault with its place",
    JSON.stringify({ detail: [fault(["body", "tokens", 0, 2], "Input should be an integer")] }),
    "tokens[0][2]: Input should be an integer",
  ],
  [
    "a fault of a list's item",
    JSON.stringify({ detail: [fault(["body", 3, "scores"], "Field required")] }),
    "[3].scores: Field required",
  ],
  ["the whole body", JSON.stringify({ detail: [fault(["body"], "Field required")] }), "the body: Field required"],
  [
    "more than three faults",
    JSON.stringify({ detail: "abcde".split("").map((name) => fault(["body", name], "bad")) }),
    "a: bad; b: bad; c: bad; and 2 more",
  ],
  ["a plain detail", '{"detail":"Not Found"}', "Not Found"],
  ["text", "Invalid gzip payload", "Invalid gzip payload"],
  ["nothing", "", "without a word"],
  ["a page", `<html>${"x".repeat(1000)}`, `<html>${"x".repeat(294)}…`],
])("a refusal is told short: %s", (_what, text, told) => {
  expect(describeRefusal(text)).toBe(told)
})
