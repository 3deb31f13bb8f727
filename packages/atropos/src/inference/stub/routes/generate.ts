import type { LogprobsMode } from "../../inference-server.ts"
import { CutConnection, FailInside } from "../faults.ts"
import type { Piece, Sample, StubRequest } from "../generation.ts"
import type { StubCall } from "../stub-call.ts"
import { StubRefusal, type StubContext, type StubDialect } from "./context.ts"

/** What the logprobs of each kind of server are of. */
const modes: Readonly<Record<StubDialect, LogprobsMode>> = {
  any: "raw",
  vllm: "raw",
  sglang: "temperature",
  trl: "processed",
  openai: "raw",
  openrouter: "raw",
  "atropos-vllm": "raw",
}

/** Thrown when the call has been dealt with otherwise. */
export class Answered extends Error {}

/** The samples of a call's requests, with whatever is to go wrong with it. */
export async function generate(
  context: StubContext,
  call: StubCall,
  requests: readonly StubRequest[],
  onPiece?: (piece: Piece) => void,
  dialect: StubDialect = context.dialect,
): Promise<Sample[]> {
  if (context.paused === "refuse") throw new StubRefusal(503, "Generation is paused. Please retry after it resumes.")
  const fault = context.nextFault(call)
  switch (fault?.kind) {
    case "status":
      throw new FaultStatus(fault.status, fault.message ?? "The stub failed as it was told to", fault)
    case "garbage":
      call.send(200, fault.body, { "content-type": "text/html" })
      throw new Answered()
    case "hang":
      // Until the client has had enough.
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }))
      throw new Answered()
    case "slow":
      await waitFor(fault.milliseconds, call.signal)
      break
    case "cut":
      if (fault.afterTokens === undefined) throw new CutConnection()
      break
    case "error-inside":
      if (fault.afterTokens === undefined) throw new FailInside(fault)
      break
    case "abort":
    case "new-weights":
    case "one-choice":
    case undefined:
      break
  }
  const rid = call.body["rid"] ?? call.body["request_id"]
  return context.engine.run(requests, {
    mode: modes[dialect],
    signal: call.signal,
    id: typeof rid === "string" ? rid : undefined,
    fault,
    scripted: (index) => context.script(call, requests[0]?.promptIds ?? [], index),
    ...(onPiece === undefined ? {} : { onPiece }),
  })
}

/** A status that a fault asked for. */
export class FaultStatus extends StubRefusal {
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, message: string, fault: { code?: string; retryAfterSeconds?: number }) {
    super(status, message, { code: fault.code })
    this.retryAfterSeconds = fault.retryAfterSeconds
  }
}

function waitFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
