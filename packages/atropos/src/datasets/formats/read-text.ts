import { createReadStream } from "node:fs"
import { pipeline } from "node:stream/promises"
import { PassThrough } from "node:stream"
import { createGunzip } from "node:zlib"

/** The text of a file in pieces, unpacked when its name ends in `.gz`; a byte order mark is left out. */
export async function* readText(file: string): AsyncGenerator<string> {
  // The decoder keeps what a piece ends with in the middle of a character.
  const decoder = new TextDecoder("utf-8")
  for await (const bytes of readBytes(file)) yield decoder.decode(bytes, { stream: true })
  yield decoder.decode()
}

async function* readBytes(file: string): AsyncGenerator<Uint8Array> {
  if (!file.endsWith(".gz")) {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>
    return
  }
  const unpacked = new PassThrough()
  const done = pipeline(createReadStream(file), createGunzip(), unpacked)
  // A failure of the pipeline ends the iteration with the same error.
  done.catch(() => {})
  yield* unpacked as AsyncIterable<Uint8Array>
  await done
}
