import type { BranchReason, Fidelity } from "../../chat/bridge/bridge.ts"
import type { PromptOutcome } from "../../chat/bridge/conversation-record.ts"
import type { SessionCounts } from "./session.ts"

/** Counts what became of calls that were answered. */
export class SessionCounter {
  #calls = 0
  #extends = 0
  #branches = 0
  readonly #fidelity = new Map<Fidelity, number>()
  readonly #reasons = new Map<BranchReason, number>()

  count<Facts>(outcome: PromptOutcome<Facts>): void {
    this.#calls += 1
    if (outcome.outcome === "extend") {
      this.#extends += 1
      increment(this.#fidelity, outcome.fidelity)
    } else if (outcome.outcome === "branch") {
      this.#branches += 1
      increment(this.#reasons, outcome.reason)
    }
  }

  read(): SessionCounts {
    return {
      calls: this.#calls,
      extends: this.#extends,
      fidelity: Object.fromEntries(this.#fidelity),
      branches: this.#branches,
      reasons: Object.fromEntries(this.#reasons),
    }
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
