import type { JsonObject } from "../../transport/read.ts"
import type { FailInside } from "../faults.ts"
import type { StubCall } from "../stub-call.ts"
import type { StubDialect, StubRefusal } from "./context.ts"
import { FaultStatus } from "./generate.ts"
import { FieldRefusal } from "./trl-routes.ts"

/** Answers a refused request in the words of the dialect. */
export function writeRefusal(dialect: StubDialect, call: StubCall, refusal: StubRefusal): void {
  const retryAfter = refusal instanceof FaultStatus ? refusal.retryAfterSeconds : undefined
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }
  const body = refusal instanceof FieldRefusal ? { detail: refusal.detail } : refusalBody(dialect, call, refusal)
  // vLLM has begun to answer a stream before it looks whether it is paused.
  if (refusal.status === 503 && call.body["stream"] === true && speaksVllm(dialect)) {
    call.event(body)
    call.endEvents()
  } else call.json(refusal.status, body, headers)
}

/** An error where the answer has begun: inside a 200, or as an event of the stream. */
export function writeFailureInside(dialect: StubDialect, call: StubCall, failure: FailInside): void {
  const { message, serverCode: code } = failure
  const error =
    dialect === "openrouter"
      ? { code, message, metadata: { provider_name: "Stub" } }
      : { message, type: "InternalServerError", param: null, code }
  if (call.body["stream"] !== true) return call.json(200, { error })
  if (dialect === "openrouter") {
    const choice = { index: 0, delta: { content: "" }, finish_reason: "error" }
    call.event({ id: "gen-stub", object: "chat.completion.chunk", error, choices: [choice] })
  } else call.event({ error })
  call.endEvents()
}

function refusalBody(dialect: StubDialect, call: StubCall, refusal: StubRefusal): JsonObject {
  const { status, message, param = null } = refusal
  const type = typeNames[status] ?? (status >= 500 ? "InternalServerError" : "BadRequestError")
  switch (dialect) {
    case "any":
    case "vllm":
      return { error: { message, type, param, code: status } }
    case "sglang":
      return call.path === "/generate"
        ? { error: { message } }
        : { object: "error", message, type, param, code: status }
    case "trl":
    case "atropos-vllm":
      return { detail: message }
    case "openrouter":
      return { error: { code: status, message, metadata: {} } }
    case "openai":
      return {
        error: {
          message,
          type: status === 429 ? "requests" : status >= 500 ? "server_error" : "invalid_request_error",
          param,
          code: refusal.serverCode ?? (status === 429 ? "rate_limit_exceeded" : null),
        },
      }
  }
}

const typeNames: Readonly<Record<number, string>> = {
  401: "AuthenticationError",
  403: "PermissionDeniedError",
  404: "NotFoundError",
  429: "RateLimitError",
  503: "ServiceUnavailableError",
}

function speaksVllm(dialect: StubDialect): boolean {
  return dialect === "any" || dialect === "vllm"
}
