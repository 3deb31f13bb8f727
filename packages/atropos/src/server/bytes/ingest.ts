import { prepareGroups } from "./prepare-groups.ts"
import type { Ingest, IngestLimits } from "./prepared-group.ts"
import { createWasmCodec } from "./wasm/wasm-codec.ts"

/** What turns bodies into stored groups. */
export function createIngest(limits: IngestLimits): Ingest {
  const codec = createWasmCodec()
  return {
    ingest: async (request) => {
      const result = prepareGroups(request, limits, codec)
      if (request.body.buffer instanceof ArrayBuffer) request.recycle?.(request.body.buffer)
      return result
    },
    close: async () => {},
  }
}
