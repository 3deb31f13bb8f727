import { readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { serverLimits } from "./limits.ts"

/** Which metric shows that a bound was reached: `refused` is `atropos_refused_requests_total`. */
const seenIn: Readonly<Record<keyof typeof serverLimits.shape, string>> = {
  maxBody: "refused, `body_too_large`",
  maxInflated: "refused, `inflated_too_large`",
  maxNesting: "refused, `json_bound`",
  maxSequences: "refused, `too_long`",
  maxQueue: "`atropos_held_pushes`; refused, `queue_full`",
  maxBodyMemory: "`atropos_held_pushes`; refused, `queue_full`",
  maxHold: "refused, `queue_full`",
  maxWait: "`atropos_waiting_polls`",
  maxEnvs: "refused, `too_many_environments`",
  maxKeys: "`atropos_repeated_pushes_total` counts retries that were known",
  maxSources: "refused, `log_full`",
  maxJournal: "refused, `log_full`",
  maxConnections: "`atropos_dropped_connections_total`",
  headersTimeout: "refused, `headers_timeout`",
  bodyTimeout: "refused, `body_timeout`",
  stallTimeout: "`atropos_cut_answers_total`",
}

test("the table of bounds in docs/server.md is that of the schema", () => {
  const docs = readFileSync(new URL("../../../../docs/server.md", import.meta.url), "utf8")
  const [section = ""] = docs.slice(docs.indexOf("<!-- bounds -->")).split("\n## ")
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((cell) => cell.trim()))
  const expected = Object.entries(serverLimits.shape).map(([name, field]) => {
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const value = field.parse(undefined).toLocaleString("en-US")
    return ["", `\`--${flag}\``, value, field.description, seenIn[name as keyof typeof seenIn], ""]
  })
  expect(rows).toEqual(expected)
})
