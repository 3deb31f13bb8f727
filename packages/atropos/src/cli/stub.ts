import { z } from "zod"

import { createModelStub } from "../inference/stub/model-stub.ts"
import { defineCommand } from "./command.ts"

const options = z.object({
  port: z.int().min(0).max(65_535).default(9001).describe("port to listen on; 0 takes a free one"),
  host: z.string().default("127.0.0.1").describe("address to listen on"),
  seed: z.int().default(0).describe("one seed, one sequence of answers"),
  meanTokens: z.number().positive().default(24).describe("mean length of an answer that nothing cuts, in tokens"),
})

export const command = defineCommand({
  name: "stub",
  summary: "Serve a fake model with the routes of real inference servers",
  options,
  async run(values, _positionals, context) {
    const stub = await createModelStub(values)
    context.stdout(`model stub: base_url ${stub.baseUrl}\n`)
    await new Promise<void>((resolve) => {
      if (context.signal.aborted) resolve()
      else context.signal.addEventListener("abort", () => resolve(), { once: true })
    })
    await stub.close()
    return 0
  },
})
