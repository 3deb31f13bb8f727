import { mkdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"

import { z } from "zod"

import { createModelStub } from "../inference/stub/model-stub.ts"
import { seededRandom } from "../inference/stub/stub-model.ts"
import { stubDialects } from "../inference/stub/routes/context.ts"
import { stubTokenizerFiles } from "../inference/stub/tokenizer/stub-tokenizer.ts"
import { defineCommand } from "./command.ts"
import { untilAborted } from "./until-aborted.ts"

const options = z.object({
  port: z.int().min(0).max(65_535).default(9001).describe("port to listen on; 0 takes a free one"),
  host: z.string().default("127.0.0.1").describe("address to listen on"),
  dialect: z.enum(stubDialects).default("any").describe("whose routes it has; any: those of all"),
  model: z.string().default("atropos-stub").describe("the name under which it serves; requests may use any"),
  tokenizerDir: z.string().default("runs/stub-tokenizer").describe("folder to write its tokenizer.json to"),
  seed: z.int().default(0).describe("one seed, one sequence of answers"),
  meanTokens: z.number().positive().default(24).describe("mean length of an answer that nothing cuts, in tokens"),
  contextTokens: z.int().positive().default(32_768).describe("prompt and answer together have at most this many"),
  latencyMs: z.number().min(0).default(0).describe("milliseconds before the first token"),
  millisecondsPerToken: z.number().min(0).default(0).describe("milliseconds between tokens"),
  failRate: z.number().min(0).max(1).default(0).describe("share of requests that fail with 500"),
  ignoresN: z.boolean().default(false).describe("give one answer whatever n asks for"),
  apiKey: z.string().optional().describe("what requests must bring as a bearer token"),
})

export const command = defineCommand({
  name: "stub",
  summary: "Serve a fake model with the routes of real inference servers",
  options,
  async run({ failRate, apiKey, tokenizerDir, ...values }, _positionals, context) {
    const random = seededRandom(values.seed)
    const stub = await createModelStub({
      ...values,
      ...(apiKey === undefined ? {} : { apiKey }),
      fault: () => (random() < failRate ? { kind: "status", status: 500 } : undefined),
    })
    await writeTokenizer(resolve(context.workingDirectory, tokenizerDir))
    context.stdout(`model stub: base_url ${stub.baseUrl}\ntokenizer: ${tokenizerDir}\n`)
    await untilAborted(context.signal)
    await stub.close()
    return 0
  },
})

async function writeTokenizer(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(stubTokenizerFiles)) await writeFile(join(folder, name), text)
}
