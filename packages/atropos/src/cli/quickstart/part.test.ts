import { expect, test } from "vitest"

import { partDied } from "./part.ts"

test("the last lines of a dead part are cut to a readable length", () => {
  const lines = ["short", `{"metrics":${"x".repeat(5000)}}`]
  const { message } = partDied({ name: "environment", pid: 7, code: null, signal: "SIGKILL", lines })
  expect(message).toMatch(
    /^environment \(process 7\) ended by SIGKILL; its last lines:\n {2}short\n {2}\{"metrics":x+ …$/,
  )
  expect(message.length).toBeLessThan(400)
})
