import { readFile } from "node:fs/promises"

import { loadTokenizer, type Logger, silentLogger } from "atropos-rl"
import { z } from "zod"

import { decodeWeights } from "./safetensors.ts"
import { createSampler } from "./sampler.ts"
import { createPolicyServer } from "./server/policy-server.ts"
import { plainCharacters, vocabularySize, writeTokenizer } from "./vocabulary.ts"
import { drawWeights, type Weights } from "./weights.ts"

export const policySettings = z.object({
  host: z.string().default("127.0.0.1").describe("address to listen on"),
  port: z.int().min(0).max(65_535).default(9001).describe("port to listen on; 0 takes a free one"),
  modelName: z.string().default("policy").describe("name under which the model answers"),
  seed: z.int().default(1).describe("decides the random weights, and the samples of requests without a seed"),
  weights: z
    .string()
    .optional()
    .describe("safetensors file to start from, such as a checkpoint, instead of random ones"),
  tokenizerDir: z.string().default("runs/policy-tokenizer").describe("folder to write tokenizer.json to"),
  characters: z.string().min(1).default(plainCharacters).describe("the vocabulary; printable ASCII unless given"),
  layers: z.int().min(1).default(2).describe("transformer blocks"),
  width: z.int().min(2).default(64).describe("size of the residual stream"),
  heads: z.int().min(1).default(4).describe("attention heads"),
  contextLength: z.int().min(2).default(256).describe("most tokens of a prompt and its answer together"),
  maxRows: z.int().min(1).default(256).describe("samples drawn at once; further ones wait"),
})

export type PolicySettings = z.output<typeof policySettings>

export interface RunningPolicy {
  /** Such as `http://127.0.0.1:9001`. */
  address: string
  close(): Promise<void>
}

/** Writes the tokenizer, draws or loads the weights, and answers over HTTP. */
export async function servePolicy(settings: PolicySettings, logger: Logger = silentLogger): Promise<RunningPolicy> {
  await writeTokenizer(settings.tokenizerDir, settings.characters)
  const tokenizer = await loadTokenizer(settings.tokenizerDir)
  const { weights, version } = await startingWeights(settings)
  const policy = await createSampler({ weights, version, seed: settings.seed, maxRows: settings.maxRows })
  const server = createPolicyServer({ policy, tokenizer, modelName: settings.modelName, logger })
  const address = await server.listen({ host: settings.host, port: settings.port })
  logger.info("the policy answers", { address, parameters: weights.flat.length, version })
  return {
    address,
    async close() {
      await server.close()
      await policy.close()
    },
  }
}

async function startingWeights(settings: PolicySettings): Promise<{ weights: Weights; version: number }> {
  const { layers, width, heads, contextLength } = settings
  const config = { vocabularySize: vocabularySize(settings.characters), layers, width, heads, contextLength }
  if (settings.weights === undefined) return { weights: drawWeights(config, settings.seed), version: 0 }
  return decodeWeights(await readFile(settings.weights), config)
}
