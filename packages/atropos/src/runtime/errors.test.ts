import { readFileSync } from "node:fs"
import { expect, it } from "vitest"

import { AtroposError, errorCodes, isAtroposError } from "./errors.ts"

it("the table in docs/errors.md lists the codes as the catalogue has them", () => {
  const page = readFileSync(new URL("../../../../docs/errors.md", import.meta.url), "utf8")
  const rows = [...page.matchAll(/^\| `([a-z-]+)`\s*\| (.*?)\s*\|$/gm)].map((row) => [row[1], row[2]])
  expect(rows).toEqual(Object.entries(errorCodes).toSorted(([a], [b]) => (a < b ? -1 : 1)))
})

it("an error is recognised by its code, whichever copy of the class it is of", () => {
  const other = Object.assign(new Error("x"), { code: "bad-option" })
  expect(isAtroposError(other, "bad-option")).toBe(true)
  expect(isAtroposError(Object.assign(new Error("x"), { code: "ENOENT" }))).toBe(false)
  expect(isAtroposError(new AtroposError("bad-option", "x"), "missing-dependency")).toBe(false)
})
