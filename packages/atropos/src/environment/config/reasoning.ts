import type { ReasoningEffort, ReasoningOptions } from "../../inference/inference-server.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { EnvironmentConfig } from "./environment-config.ts"

const efforts: readonly ReasoningEffort[] = ["none", "minimal", "low", "medium", "high", "xhigh"]

/** What providers are asked for; undefined when thinking is off. An effort or a budget switches it on. */
export function reasoningOf(
  config: Pick<EnvironmentConfig, "thinkingMode" | "reasoningEffort" | "maxReasoningTokens">,
): ReasoningOptions | undefined {
  const { thinkingMode, reasoningEffort, maxReasoningTokens } = config
  const effort = efforts.find((known) => known === reasoningEffort)
  if (reasoningEffort !== null && effort === undefined) {
    throw new AtroposError(
      "bad-option",
      `--env.reasoning_effort takes ${efforts.join(", ")}, received ${JSON.stringify(reasoningEffort)}`,
    )
  }
  if (!thinkingMode && effort === undefined && maxReasoningTokens === null) return undefined
  return {
    ...(effort === undefined ? {} : { effort }),
    ...(maxReasoningTokens === null ? {} : { maxTokens: maxReasoningTokens }),
  }
}
