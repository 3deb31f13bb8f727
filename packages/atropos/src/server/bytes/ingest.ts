import { prepareGroups } from "./prepare-groups.ts"
import type { Ingest, IngestLimits } from "./prepared-group.ts"

/** What turns bodies into stored groups. */
export function createIngest(limits: IngestLimits): Ingest {
  return {
    ingest: async (request) => {
      const result = prepareGroups(request, limits)
      if (request.body.buffer instanceof ArrayBuffer) request.recycle?.(request.body.buffer)
      return result
    },
    close: async () => {},
  }
}
