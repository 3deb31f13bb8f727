import { crc32 } from "node:zlib"
import type { Codec } from "../codec.ts"
import { skipGzipHeader } from "../gzip-header.ts"
import { claimedSize } from "../inflate.ts"
import type { Segment } from "../segment.ts"
import { instantiateCodec } from "./wasm-module.ts"

/** The functions read and write up to this much beyond the end of a buffer. */
const margin = 384

/** Bodies of more gzip members are for zlib, which has less to do between them. */
const maxMembers = 256

/** The codec in WebAssembly, with memory of its own; null where there is none. */
export function createWasmCodec(): Codec | null {
  const instance = instantiateCodec()
  if (instance === null) return null
  const { exports, view } = instance
  const first = exports.buffers + margin
  // The loaded text, and the canonical JSON of the group scanned last.
  let input = first
  let inputLength = 0
  let output = 0
  let outputLength = 0

  /** Makes `length` bytes at `start` the loaded text; there must be room for what is scanned from it. */
  function setText(start: number, length: number): void {
    input = start
    inputLength = length
    output = start + length + margin
    outputLength = 0
    // A byte that belongs to no JSON ends every scan.
    view.bytes[input + inputLength] = 0
  }

  function put(text: Uint8Array): void {
    view.grow(first + text.length + margin + roomToWork(text.length))
    view.bytes.set(text, first)
    setText(first, text.length)
  }

  function encodeAt(from: number, length: number, room?: Uint8Array): Segment {
    const target = from + length + margin
    const end = exports.encode(from, length, target)
    const encoded = view.bytes.subarray(target, end)
    const segment = putInto(room, encoded) ?? encoded.slice()
    return { segment, crc32: crc32(view.bytes.subarray(from, from + length)), jsonBytes: length }
  }

  /** Inflates the member at `position` of the body to `to`; where both end, or null. */
  function inflateMember(body: Uint8Array, position: number, to: number, limit: number): Member | null {
    const stream = skipGzipHeader(body, position)
    if (stream < 0 || exports.inflate(first + stream, first + body.length, to, limit) === 0) return null
    const inputEnd = exports.inflateInputEnd.value
    const outputEnd = exports.inflateOutputEnd.value
    const bodyEnd = inputEnd - first + 8
    if (bodyEnd > body.length) return null
    const isRight =
      view.data.getUint32(inputEnd, true) === crc32(view.bytes.subarray(to, outputEnd)) &&
      view.data.getUint32(inputEnd + 4, true) === outputEnd - to
    return isRight ? { bodyEnd, outputEnd } : null
  }

  return {
    inflate(body, limit) {
      const expected = claimedSize(body)
      if (expected === null || expected > limit) return null
      const text = first + body.length + margin
      view.grow(text + expected + margin + roomToWork(expected))
      view.bytes.set(body, first)
      // The decoder may look at a few bytes behind the body.
      view.bytes.fill(0, first + body.length, first + body.length + 16)
      let position = 0
      let end = text
      for (let members = 0; position < body.length; members += 1) {
        if (members === maxMembers) return null
        const member = inflateMember(body, position, end, text + expected)
        if (member === null) return null
        end = member.outputEnd
        position = member.bodyEnd
        while (body[position] === 0) position += 1
      }
      setText(text, end - text)
      return view.bytes.subarray(text, end)
    },
    load: put,
    scan(start) {
      const end = exports.scanGroup(input + start, output)
      if (end === 0) return null
      outputLength = view.data.getUint32(exports.result, true)
      const envId = view.data.getFloat64(exports.result + 16, true)
      return {
        end: end - input,
        size: view.data.getUint32(exports.result + 4, true),
        tokens: view.data.getFloat64(exports.result + 8, true),
        envId: envId < 0 ? null : envId,
      }
    },
    scannedJson: () => view.bytes.subarray(output, output + outputLength),
    encodeScanned: (room) => encodeAt(output, outputLength, room),
    encode(json, room) {
      put(json)
      return encodeAt(input, inputLength, room)
    },
  }
}

/** Where the bytes are in the room, if they fit. */
function putInto(room: Uint8Array | undefined, bytes: Uint8Array): Uint8Array | null {
  if (room === undefined || room.length < bytes.length) return null
  room.set(bytes)
  return room.subarray(0, bytes.length)
}

interface Member {
  bodyEnd: number
  outputEnd: number
}

/**
 * Bytes that scanning a text and encoding what was scanned may write behind it. Taken at once, so that the memory does
 * not move under a text; what is not written costs no memory.
 */
function roomToWork(textLength: number): number {
  // An integer in a float field becomes two bytes longer.
  const canonical = textLength * 2 + 1024
  // No code is longer than 13 bits; a piece's header takes less than 512 bytes.
  const segment = Math.ceil(canonical * 1.625) + (Math.ceil(canonical / 32_768) + 1) * 512
  return canonical + segment + 2 * margin
}
