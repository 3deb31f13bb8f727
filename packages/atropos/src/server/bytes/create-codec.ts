import type { Codec } from "./codec.ts"
import { createJsCodec } from "./scan/js-codec.ts"
import { createWasmCodec } from "./wasm/wasm-codec.ts"

/** The fastest codec there is on this machine. */
export function createCodec(): Codec {
  return createWasmCodec() ?? createJsCodec()
}
