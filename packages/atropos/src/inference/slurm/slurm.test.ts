import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { expect, test, vi } from "vitest"

import { discoverSlurmServers } from "./discover-servers.ts"
import { expandNodeList } from "./node-list.ts"

test("expands ranges with their zeros, lists, suffixes and several brackets", () => {
  expect(expandNodeList("node1")).toEqual(["node1"])
  expect(expandNodeList("node[1-3]")).toEqual(["node1", "node2", "node3"])
  expect(expandNodeList("node[08-11,20]")).toEqual(["node08", "node09", "node10", "node11", "node20"])
  expect(expandNodeList("a,b[1,3],c-[01-02]-x")).toEqual(["a", "b1", "b3", "c-01-x", "c-02-x"])
  expect(expandNodeList("r[1-2]n[1-2]")).toEqual(["r1n1", "r1n2", "r2n1", "r2n2"])
  expect(expandNodeList("gpu-a100[007].cluster.local")).toEqual(["gpu-a100007.cluster.local"])
  expect(expandNodeList("n[9-10]")).toEqual(["n9", "n10"])
})

test.each(["node[1-2", "node1-2]", "node[[1]]", "node[3-1]", "node[]", "node[1-200000]"])("refuses %s", (list) => {
  expect(() => expandNodeList(list)).toThrow(/Slurm node list/)
})

test("what is written as a list of ranges comes back as its names", () => {
  const range = fc.record({
    from: fc.integer({ min: 0, max: 500 }),
    count: fc.integer({ min: 0, max: 20 }),
    width: fc.integer({ min: 1, max: 4 }),
  })
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 5 }), (ranges) => {
      const spelled = ranges.map(({ from, count, width }) => {
        const pad = (number: number): string => String(number).padStart(width, "0")
        const names = Array.from({ length: count + 1 }, (_, index) => `n${pad(from + index)}`)
        return { names, text: `${pad(from)}-${String(from + count)}` }
      })
      const list = `n[${spelled.map(({ text }) => text).join(",")}]`
      expect(expandNodeList(list)).toEqual(spelled.flatMap(({ names }) => names))
    }),
  )
})

test("serves one model for every INFER_TP GPUs of each node that does not train", async () => {
  const environment = { SLURM_JOB_NODELIST: "gpu[1-3]", NUM_TRAINING_NODES: "1", INFER_TP: "4" }
  expect(await discoverSlurmServers({ environment, expand: async (list) => expandNodeList(list) })).toEqual([
    "http://gpu2:9000/v1",
    "http://gpu2:9001/v1",
    "http://gpu3:9000/v1",
    "http://gpu3:9001/v1",
  ])
})

test("reads the node list itself where there is no scontrol", async () => {
  const environment = { SLURM_JOB_NODELIST: "gpu[1-2]", NUM_TRAINING_NODES: "1", INFER_TP: "8" }
  expect(await discoverSlurmServers({ environment })).toEqual(["http://gpu2:9000/v1"])
})

test.each([
  [{}, /SLURM_JOB_NODELIST is not set/],
  [{ SLURM_JOB_NODELIST: "a[1-2]", NUM_TRAINING_NODES: "2" }, /none is left/],
  [{ SLURM_JOB_NODELIST: "a", INFER_TP: "16" }, /no server fits/],
  [{ SLURM_JOB_NODELIST: "a", INFER_TP: "two" }, /whole number >= 1, received "two"/],
])("says what is wrong with %o", async (environment, message) => {
  await expect(discoverSlurmServers({ environment })).rejects.toThrow(message)
})

test("asks scontrol where there is one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scontrol-"))
  await writeFile(join(folder, "scontrol"), '#!/bin/sh\necho "$1 $2 $3" >&2\necho said-by-scontrol\n', { mode: 0o755 })
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`)
  try {
    const environment = { SLURM_JOB_NODELIST: "gpu[1-2]", INFER_TP: "8" }
    expect(await discoverSlurmServers({ environment })).toEqual(["http://said-by-scontrol:9000/v1"])
  } finally {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  }
})
