import { spawnSync } from "node:child_process"
import { expect, test } from "vitest"

test("codec.wasm is what its sources give", () => {
  const script = new URL("../../../../../../scripts/build-wasm.ts", import.meta.url).pathname
  const result = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" })
  expect(result.stderr + result.stdout).toContain("codec.wasm is what the sources give")
})
