import type { Codec } from "../codec.ts"
import { deflateSegment } from "../segment.ts"
import { GroupScanner } from "./group-scanner.ts"

/** The codec without WebAssembly: the fallback, for texts too large for its memory, and the oracle in tests. */
export function createJsCodec(): Codec {
  let output = new Uint8Array()
  let scanner = new GroupScanner(output, output)
  const scannedJson = (): Uint8Array => output.subarray(0, scanner.written)
  return {
    inflate: () => null,
    load(text) {
      // An integer in a float field becomes two bytes longer, and takes two bytes or more with its comma.
      const capacity = text.length * 2 + 1024
      if (output.length < capacity) output = new Uint8Array(capacity)
      scanner = new GroupScanner(text, output)
    },
    scan: (start) => scanner.scan(start),
    scannedJson,
    encodeScanned: () => deflateSegment(scannedJson()),
    encode: deflateSegment,
  }
}
