import { gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { createCodec } from "./create-codec.ts"
import { prepareGroups } from "./prepare-groups.ts"
import { createJsCodec } from "./scan/js-codec.ts"
import { inflateSegment } from "./stitch/stitch.ts"

const limits = { inflatedBytes: 1 << 24, nesting: 400, sequencesPerGroup: 3 }
const codecs = { "wasm codec": createCodec(), "JavaScript codec": createJsCodec() }
const group = (id: number): string => `{"tokens":[[${id}]],"masks":[[${id}]],"scores":[1.0]}`

describe.each(Object.entries(codecs))("a body, with the %s", (_, codec) => {
  const prepare = (text: string, kind: "one" | "list" = "list", bounds: Partial<typeof limits> = {}) =>
    prepareGroups({ kind, body: Buffer.from(text), gzip: false, json: true }, { ...limits, ...bounds }, codec)

  async function idsOf(text: string): Promise<number[] | string> {
    const result = prepare(text)
    if (!result.ok) return result.refusal.body
    const texts = await Promise.all(result.groups.map(inflateSegment))
    return texts.map((json) => (JSON.parse(Buffer.from(json).toString()) as { tokens: number[][] }).tokens[0]![0]!)
  }

  test("may be a list of groups, spaced in any way, of scanned and exact ones", async () => {
    expect(await idsOf("[]")).toEqual([])
    expect(await idsOf(` [\n${group(1)} ,\t${group(2)}\r\n]  `)).toEqual([1, 2])
    expect(await idsOf(`[${group(1)},${group(2).replace("1.0", '"1"')},${group(3)}]`)).toEqual([1, 2, 3])
    expect(await idsOf(`\ufeff[${group(1)}]`)).toEqual([1])
  })

  test("is refused as a whole when anything of it is wrong", () => {
    for (const text of [
      `[${group(1)},]`,
      `[${group(1)}`,
      `[${group(1)}]]`,
      `[${group(1)} ${group(2)}]`,
      `${group(1)},`,
      "[",
    ]) {
      expect(prepare(text)).toMatchObject({ ok: false, refusal: { status: 422, reason: "json_invalid" } })
    }
    expect(prepare(`[${group(1)},${group(2).replace("1.0", "NaN")}]`)).toMatchObject({
      refusal: { body: expect.stringContaining('"loc":["body",1,"scores",0]') as string },
    })
    expect(prepare(`[${group(1)},5]`)).toMatchObject({ refusal: { reason: "model_attributes_type" } })
    expect(prepare(group(1))).toMatchObject({ refusal: { reason: "list_type" } })
    expect(prepare(`[${group(1)}]`, "one")).toMatchObject({ refusal: { reason: "model_attributes_type" } })
    const asText = (kind: "one" | "list"): object =>
      prepareGroups({ kind, body: Buffer.from(`[${group(1)}]`), gzip: false, json: false }, limits, codec)
    expect(asText("list")).toMatchObject({ refusal: { reason: "list_type" } })
    expect(asText("one")).toMatchObject({ refusal: { reason: "model_attributes_type" } })
  })

  test("is bounded in sequences and depth on the fast way too", () => {
    const rows = (count: number): string => `[${Array(count).fill("[1]").join(",")}]`
    const sized = (count: number): string =>
      `{"tokens":${rows(count)},"masks":${rows(count)},"scores":[${Array(count).fill("1.0").join(",")}]}`
    expect(prepare(sized(3), "one")).toMatchObject({ ok: true, groups: [{ size: 3, tokens: 3 }] })
    expect(prepare(sized(4), "one")).toMatchObject({ ok: false, refusal: { reason: "too_long" } })
    const deep = (depth: number): string =>
      `${group(1).slice(0, -1)},"images":${"[".repeat(depth)}${"]".repeat(depth)}}`
    for (const depth of [1, 63, 64, 65, 399]) expect(prepare(deep(depth), "one")).toMatchObject({ ok: true })
    expect(prepare(deep(400), "one")).toMatchObject({ ok: false, refusal: { status: 400 } })
    expect(prepare(deep(30), "one", { nesting: 30 })).toMatchObject({ ok: false, refusal: { status: 400 } })
  })

  test("has a digest of its bytes as they were sent", () => {
    const digest = (body: Buffer, gzip: boolean): string => {
      const result = prepareGroups({ kind: "one", body, gzip, json: true }, limits, codec)
      return result.ok ? result.digest : ""
    }
    const plain = Buffer.from(group(1))
    expect(digest(plain, false)).toBe(digest(Buffer.from(plain), false))
    const all = [
      digest(plain, false),
      digest(gzipSync(plain), true),
      digest(gzipSync(plain, { level: 0 }), true),
      digest(Buffer.from(group(2)), false),
    ]
    expect(new Set(all).size).toBe(4)
  })
})
