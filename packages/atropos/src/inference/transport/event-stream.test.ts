import fc from "fast-check"
import { expect, test } from "vitest"

import { readEvents, type ServerEvent } from "./event-stream.ts"

async function read(bytes: Uint8Array, cuts: readonly number[] = []): Promise<ServerEvent[]> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let start = 0
    for (const cut of [...new Set(cuts)].toSorted((a, b) => a - b)) {
      yield bytes.subarray(start, cut)
      start = cut
    }
    yield bytes.subarray(start)
  }
  const events: ServerEvent[] = []
  for await (const event of readEvents(pieces())) events.push(event)
  return events
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

test("reads events with and without names, and skips comments and other fields", async () => {
  const text =
    ": OPENROUTER PROCESSING\n\nevent: message\ndata: one\nid: 4\n\ndata:two\n\nretry: 10\ndata: a\ndata: b\n\n"
  expect(await read(encode(text))).toEqual([
    { event: "message", data: "one" },
    { event: undefined, data: "two" },
    { event: undefined, data: "a\nb" },
  ])
})

test("takes the last event without its blank line", async () => {
  expect(await read(encode("data: one\n\ndata: [DONE]"))).toEqual([
    { event: undefined, data: "one" },
    { event: undefined, data: "[DONE]" },
  ])
})

test("reads the same however the bytes are cut, characters in the middle and either line ending", async () => {
  const part = fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, " ").trim())
  const input = fc.record({
    data: fc.array(
      part.filter((text) => text !== ""),
      { minLength: 1, maxLength: 5 },
    ),
    ending: fc.constantFrom("\n", "\r\n"),
    cuts: fc.array(fc.nat(300), { maxLength: 20 }),
  })
  await fc.assert(
    fc.asyncProperty(input, async ({ data, ending, cuts }) => {
      const bytes = encode(data.map((text) => `data: ${text}${ending}${ending}`).join(""))
      const events = await read(
        bytes,
        cuts.filter((cut) => cut < bytes.length),
      )
      expect(events.map((event) => event.data)).toEqual(data)
    }),
  )
})
