import type { FinishReason } from "../inference-server.ts"

/** The reason under our names. A provider's null or unknown word says no more than that it came to its end. */
export function readFinishReason(reason: unknown): FinishReason {
  switch (reason) {
    case "length":
    case "max_tokens":
    case "max_output_tokens":
    case "model_length":
    // vLLM ends a text that goes in circles: cut short, not finished.
    case "repetition":
      return "length"
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool_calls"
    case "content_filter":
      return "content_filter"
    case "abort":
    case "error":
    case "cancelled":
      return "abort"
    default:
      return "stop"
  }
}
