import { z } from "zod"

/** One inference server: `--openai.*` for the policy, `--<helper>.*` for others. */
export const serverConfig = z.object({
  baseUrl: z
    .string()
    .nullable()
    .default("")
    .describe("address; empty: localhost ports 9004 to 9007, null: the official OpenAI API"),
  apiKey: z.string().nullable().default("").describe("key; null: from OPENAI_API_KEY"),
  modelName: z.string().default("default").describe("the model's name in requests"),
  serverType: z.enum(["openai", "vllm", "sglang", "trl"]).default("openai").describe("how the server is spoken to"),
  tokenizerName: z.string().default("none").describe("hub id or directory; none: the model's name"),
  timeout: z.int().min(1).default(1200).describe("seconds that one request may take"),
  numMaxRequestsAtOnce: z
    .int()
    .min(1)
    .default(512)
    .describe("training requests at the same time, times the environment's weight"),
  numRequestsForEval: z
    .int()
    .min(1)
    .default(64)
    .describe("evaluation requests at the same time, times the environment's weight"),
  rollingBufferLength: z.int().min(1).default(1000).describe("requests that the server's metrics look back on"),
  nKwargIsIgnored: z.boolean().default(false).describe("the server gives one answer whatever n asks for"),
  healthCheck: z
    .boolean()
    .default(true)
    .describe("ask whether the server is well, every 5 s without an answer from it, every second while it is not"),
})

export type ServerConfig = z.output<typeof serverConfig>
