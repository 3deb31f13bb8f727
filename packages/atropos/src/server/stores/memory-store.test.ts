import { describe, it } from "vitest"
import { createMemoryStore } from "./memory-store.ts"
import { storeCases, type StoreFixture } from "./store-conformance.ts"

async function memoryFixture(): Promise<StoreFixture> {
  return { open: async (options) => createMemoryStore(options), crash: null, fill: null, remove: async () => {} }
}

describe("the memory store", () => {
  for (const each of storeCases) it(each.title, () => each.run(memoryFixture))
})
