import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

import { afterEach, beforeEach, describe, expect, it } from "vitest"

import { parquetFile } from "./formats/parquet-fixture.ts"
import { openDataset, type DatasetOptions } from "./open-dataset.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "atropos-data-"))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function write(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, content)
  return path
}

async function read(path: string, options: DatasetOptions = {}): Promise<unknown[]> {
  return (await openDataset(path, options)).toArray()
}

const wanted = [
  { id: 1, text: "one, two" },
  { id: 2, text: 'a "quoted"\nline' },
  { id: 3, text: "drei – ä" },
]
const jsonl = wanted.map((row) => JSON.stringify(row)).join("\n")
const csv = 'id,text\n1,"one, two"\n2,"a ""quoted""\nline"\n3,drei – ä\n'

describe("formats", () => {
  it.each([
    ["rows.jsonl", jsonl],
    ["rows.ndjson", `${jsonl}\n\n`],
    ["rows.jsonl.gz", gzipSync(jsonl)],
    ["rows.json", JSON.stringify(wanted)],
    ["indented.json", JSON.stringify(wanted, null, 2)],
    ["object.json", JSON.stringify({ version: 1, data: wanted })],
    ["splits.json", JSON.stringify({ train: wanted, test: [] })],
    ["rows.csv", csv],
    ["marked.csv", `\u{feff}${csv}`],
    ["rows.csv.gz", gzipSync(csv)],
    ["rows.tsv", 'id\ttext\n1\tone, two\n2\t"a ""quoted""\nline"\n3\tdrei – ä\n'],
  ])("reads %s", async (name, content) => {
    expect(await read(write(name, content))).toEqual(wanted)
  })

  it("reads Parquet with its row groups, lists and 64-bit numbers", async () => {
    const rows = await read(write("rows.parquet", parquetFile))
    expect(rows).toHaveLength(5)
    expect(rows[0]).toEqual({ id: 1, text: "one", turns: [{ from: "human", value: "hi" }] })
    expect(rows[4]).toEqual({ id: 9007199254740993n, text: "five", turns: [] })
  })

  it("keeps texts of a CSV that only look like numbers", async () => {
    expect(await read(write("a.csv", "a,b,c\n007,1.50,12\n"))).toEqual([{ a: "007", b: "1.50", c: 12 }])
  })
})

describe("broken data", () => {
  it.each([
    ["rows.jsonl", '{"a":1}\n{"a":\n{"a":3}\n', /rows\.jsonl, line 2: not JSON/],
    ["list.jsonl", '{"a":1}\n[1]\n', /list\.jsonl, line 2: a row must be an object with columns, this is a list/],
    ["rows.json", '[{"a":1},{"a":}]', /rows\.json, row 2: not JSON/],
    ["cut.json", '[{"a":1},{"a":2}', /cut\.json, row 2: the file ends in the middle/],
    ["other.json", '{"a":1}', /must be a list of rows, or an object with one such list/],
    ["rows.csv", "a,b\n1,2\n1,2,3\n", /rows\.csv, line 3: Invalid Record Length/],
    ["rows.parquet", "PAR1 but no more", /rows\.parquet: not readable as Parquet/],
    ["rows.jsonl.gz", "no gzip", /rows\.jsonl\.gz: incorrect header check/],
    ["rows.txt", "1", /rows\.txt: not a data file; known are/],
  ])("says where %s cannot be read", async (name, content, message) => {
    await expect(read(write(name, content))).rejects.toThrow(message)
  })

  it.each(["rows.jsonl", "rows.json", "rows.csv"])("says that an empty %s has no rows", async (name) => {
    await expect(read(write(name, ""))).rejects.toMatchObject({
      code: "dataset-broken",
      message: expect.stringContaining("has no rows"),
    })
  })

  it("leaves broken rows out when told to, and says so", async () => {
    const told: string[] = []
    const logger = { debug() {}, info() {}, warn: (message: string) => void told.push(message), error() {} }
    const path = write("rows.jsonl", '{"a":1}\nnope\n{"b":2}\n{"a":3}\n')
    expect(await read(path, { brokenRows: "skip", columns: ["a"], logger })).toEqual([{ a: 1 }, { a: 3 }])
    expect(new Set(told)).toEqual(new Set(["left out a row that cannot be read"]))
  })

  it("names the columns that are missing and those there are, at once", async () => {
    const path = write("rows.jsonl", '{"question":"?","answr":"1"}\n')
    await expect(openDataset(path, { columns: ["question", "answer"] })).rejects.toMatchObject({
      code: "dataset-columns",
      message: expect.stringContaining(
        'line 1: no column "answer"; there are "question", "answr"; did you mean answr?',
      ),
      facts: { missing: ["answer"], columns: ["question", "answr"] },
    })
  })

  it("says what is missing when there is no such file, or no data in a folder", async () => {
    await expect(read(join(folder, "no.jsonl"))).rejects.toMatchObject({ code: "dataset-missing" })
    write("notes.txt", "")
    await expect(read(folder)).rejects.toThrow("has no data files")
  })
})

describe("folders", () => {
  it("takes the files of the split by their names, in order", async () => {
    write("data/train-00001.jsonl", '{"n":2}\n')
    write("data/train-00000.jsonl", '{"n":1}\n')
    write("data/test.jsonl", '{"n":3}\n')
    write("dev/part.csv", "n\n4\n")
    write("README.md", "# nothing about files\n")
    expect(await read(folder)).toEqual([{ n: 1 }, { n: 2 }])
    expect(await read(folder, { split: "test" })).toEqual([{ n: 3 }])
    expect(await read(folder, { split: "validation" })).toEqual([{ n: 4 }])
    await expect(read(folder, { split: "extra" })).rejects.toThrow('no split "extra"; it has test, train, validation')
  })

  it("takes files that name no split as training data", async () => {
    write("a.jsonl", '{"n":1}\n')
    write("b.json", '[{"n":2}]')
    expect(await read(folder)).toEqual([{ n: 1 }, { n: 2 }])
    await expect(read(folder, { split: "test" })).rejects.toThrow('no split "test"; it has train')
  })
})

it("reads no further than it is asked for", async () => {
  const path = write("rows.jsonl", `${'{"a":1}\n'.repeat(3)}broken\n`)
  expect(await (await openDataset(path)).take(3).toArray()).toHaveLength(3)
  await expect(read(path)).rejects.toThrow("line 4")
})
