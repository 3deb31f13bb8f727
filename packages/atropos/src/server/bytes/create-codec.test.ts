import { afterEach, expect, test, vi } from "vitest"
import { createCodec } from "./create-codec.ts"
import { prepareGroups } from "./prepare-groups.ts"

afterEach(() => vi.unstubAllGlobals())

const limits = { inflatedBytes: 1 << 20, nesting: 400, sequencesPerGroup: 100 }
const body = Buffer.from('{"tokens":[[1,2]],"masks":[[-100,2]],"scores":[1]}')

test("a machine without WebAssembly takes the same groups in JavaScript", () => {
  const fast = prepareGroups({ kind: "one", body, gzip: false, json: true }, limits, createCodec())
  vi.stubGlobal("WebAssembly", { validate: () => false })
  const slow = prepareGroups({ kind: "one", body, gzip: false, json: true }, limits, createCodec())
  if (!fast.ok || !slow.ok) throw new Error("refused")
  const facts = ({ size, tokens, envId, crc32, jsonBytes }: (typeof fast.groups)[number]) => ({
    size,
    tokens,
    envId,
    crc32,
    jsonBytes,
  })
  expect(slow.groups.map(facts)).toEqual(fast.groups.map(facts))
  // zlib's first block is another than ours: it was not WebAssembly that encoded.
  expect(slow.groups[0]?.segment).not.toEqual(fast.groups[0]?.segment)
})
