import type { ReasoningEffort, ReasoningOptions } from "./inference-server.ts"

/** What an effort is worth in tokens, for providers that take a budget only. */
export const reasoningTokens: Readonly<Record<ReasoningEffort, number>> = {
  none: 1024,
  minimal: 3200,
  low: 6400,
  medium: 16_000,
  high: 25_600,
  xhigh: 30_400,
}

/** The highest effort whose tokens a budget covers. */
export function effortForTokens(tokens: number): ReasoningEffort {
  let best: ReasoningEffort = "minimal"
  for (const effort of ["low", "medium", "high", "xhigh"] as const) {
    if (reasoningTokens[effort] <= tokens) best = effort
  }
  return best
}

export function isOfficialOpenAi(baseUrl: string): boolean {
  return new URL(baseUrl).hostname === "api.openai.com"
}

/**
 * Puts reasoning options into a chat body in the words of the provider. OpenAI's own models take an effort at
 * the top level, no temperature but 1, and count reasoning in `max_completion_tokens`.
 */
export function applyReasoning(
  body: Readonly<Record<string, unknown>>,
  reasoning: ReasoningOptions,
  provider: { official: boolean; unit: "effort" | "tokens" },
): Record<string, unknown> {
  const { effort, maxTokens } = reasoning
  if (provider.official) {
    const { max_tokens: limit, ...rest } = body
    const wanted = effort ?? (maxTokens === undefined ? undefined : effortForTokens(maxTokens))
    return {
      ...rest,
      ...(limit === undefined ? {} : { max_completion_tokens: limit }),
      temperature: 1,
      ...(wanted === undefined ? {} : { reasoning_effort: wanted }),
    }
  }
  const budget = effort !== undefined && provider.unit === "tokens" ? reasoningTokens[effort] : maxTokens
  const amount =
    effort !== undefined && provider.unit === "effort" ? { effort } : budget === undefined ? {} : { max_tokens: budget }
  return { ...body, reasoning: { enabled: true, ...amount } }
}
