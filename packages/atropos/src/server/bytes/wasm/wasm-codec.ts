import { crc32 } from "node:zlib"
import type { Codec } from "../codec.ts"
import type { Segment } from "../segment.ts"
import { instantiateCodec } from "./wasm-module.ts"

/** The scanner reads, and both write, up to this much beyond the end of a buffer. */
const margin = 128

/** The codec in WebAssembly, with memory of its own. */
export function createWasmCodec(): Codec {
  const { exports, view } = instantiateCodec()
  const input = exports.buffers + margin
  let inputLength = 0
  let output = 0
  let outputLength = 0

  function encodeAt(from: number, length: number): Segment {
    const target = from + length + margin
    // No code is longer than 13 bits; a piece's header takes less than 512 bytes.
    view.grow(target + Math.ceil(length * 1.625) + (Math.ceil(length / 32_768) + 1) * 512 + margin)
    const end = exports.encode(from, length, target)
    const segment = view.bytes.slice(target, end)
    return { segment, crc32: crc32(view.bytes.subarray(from, from + length)), jsonBytes: length }
  }

  function put(text: Uint8Array): void {
    inputLength = text.length
    output = input + inputLength + margin
    outputLength = 0
    view.grow(output + inputLength * 2 + 1024 + margin)
    view.bytes.set(text, input)
    // A byte that belongs to no JSON ends every scan.
    view.bytes[input + inputLength] = 0
  }

  return {
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
    encodeScanned: () => encodeAt(output, outputLength),
    encode(json) {
      put(json)
      return encodeAt(input, inputLength)
    },
  }
}
