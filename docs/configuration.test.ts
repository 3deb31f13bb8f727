import { readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { page, withTables } from "./configuration-tables.ts"

test("the tables of docs/configuration.md are those of the schemas (node docs/configuration-tables.ts writes them)", () => {
  const text = readFileSync(page, "utf8")
  expect(text).toBe(withTables(text))
})
