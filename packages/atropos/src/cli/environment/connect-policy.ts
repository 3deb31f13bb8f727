import type { Tokenizer } from "../../chat/tokenizer.ts"
import { loadTokenizer } from "../../chat/tokenizers/load-tokenizer.ts"
import type { InferenceServer } from "../../inference/inference-server.ts"
import { VllmServer } from "../../inference/servers/vllm.ts"
import { createModelStub } from "../../inference/stub/model-stub.ts"
import type { Configuration } from "./resolve-configuration.ts"

export interface Policy {
  server: Pick<InferenceServer, "completeTokens" | "name">
  tokenizer: Tokenizer
  serverCount: number
  close(): Promise<void>
}

/** The policy as configured: its servers and its tokenizer; with `--testing` a stub that brings both. */
export async function connectPolicy(
  { env, servers, run }: Configuration,
  context: { environment: Readonly<Record<string, string | undefined>> },
): Promise<Policy> {
  if (run.testing) {
    const stub = await createModelStub({ seed: env.seed ?? 0 })
    const server = new VllmServer({ baseUrl: stub.baseUrl, model: "atropos-stub" })
    return {
      server,
      tokenizer: stub.tokenizer,
      serverCount: 1,
      close: async () => {
        await server.close()
        await stub.close()
      },
    }
  }
  const [first] = servers
  const tokenizer = await loadTokenizer(env.tokenizerName)
  const server = new VllmServer({
    baseUrl: first?.baseUrl ?? "",
    apiKey: first?.apiKey ?? context.environment["OPENAI_API_KEY"],
    model: first?.modelName ?? "default",
    timeoutMs: (first?.timeout ?? 1200) * 1000,
  })
  return { server, tokenizer, serverCount: 1, close: () => server.close() }
}
