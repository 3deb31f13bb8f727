import { refuseProblems } from "../bytes/json/problems.ts"
import type { Ingest, IngestRequest, PreparedGroup, Refusal } from "../bytes/prepared-group.ts"
import type { PushOutcome } from "../run/recent-pushes.ts"
import type { LiveRun } from "./live-run.ts"
import type { Presence } from "./presence.ts"

export interface PushRequest extends IngestRequest {
  /** Its Idempotency-Key. */
  key: string | null
  /** Whether the one who pushed is still there. */
  isConnected(): boolean
  /** Resolves to whether there is room for the groups. @default there is */
  admit?(groups: readonly PreparedGroup[]): Promise<boolean>
}

export type PushResult =
  /** Kept, or counted before. The caller says whether its answer could be written. */
  | {
      kind: "kept"
      outcome: PushOutcome
      /** The groups, or null when they had been kept before. */
      kept: readonly PreparedGroup[] | null
      answered(): void
      lost(): void
    }
  | { kind: "refused"; refusal: Refusal }
  /** Nobody is there to answer: a retry gets the answer, or is kept in its place. */
  | { kind: "gone" }
  /** There was no room for it in time. */
  | { kind: "full" }

interface PushUnderWay {
  readonly done: Promise<unknown>
  isConnected(): boolean
}

/** Takes pushes in, each once: a repeated one gets the answer of the first. */
export class PushDesk {
  readonly #live: LiveRun
  readonly #ingest: Ingest
  readonly #presence: Presence
  readonly #byKey = new Map<string, PushUnderWay>()
  readonly #byDigest = new Map<string, PushUnderWay>()

  constructor(live: LiveRun, ingest: Ingest, presence: Presence) {
    this.#live = live
    this.#ingest = ingest
    this.#presence = presence
  }

  async push(request: PushRequest): Promise<PushResult> {
    const result = await this.#ingest.ingest(request)
    if (!result.ok) return { kind: "refused", refusal: result.refusal }
    const { groups, digest } = result
    for (;;) {
      const { pushes } = this.#live.run
      const keyed = request.key === null ? undefined : pushes.findKey(request.key)
      if (keyed !== undefined && keyed.digest !== digest) return drop(groups, { kind: "refused", refusal: keyTaken })
      const outcome = request.key === null ? pushes.findLost(digest, this.#live.now) : keyed?.outcome
      if (outcome !== undefined) return drop(groups, this.#kept(request, digest, outcome, null))
      const same = this.#findUnderWay(request.key, digest)
      if (same === undefined) break
      await same.done
    }
    const refusal = this.#refuseTooLarge(request.kind, groups)
    if (refusal !== null) return drop(groups, { kind: "refused", refusal })
    const work = this.#keep(request, groups, digest)
    const underWay: PushUnderWay = { done: work.catch(() => {}), isConnected: () => request.isConnected() }
    if (request.key === null) this.#byDigest.set(digest, underWay)
    else this.#byKey.set(request.key, underWay)
    try {
      return await work
    } finally {
      if (request.key !== null) this.#byKey.delete(request.key)
      else if (this.#byDigest.get(digest) === underWay) this.#byDigest.delete(digest)
    }
  }

  #findUnderWay(key: string | null, digest: string): PushUnderWay | undefined {
    if (key !== null) return this.#byKey.get(key)
    const sameBytes = this.#byDigest.get(digest)
    // The same bytes are a retry only if the first one's answer can not arrive.
    return sameBytes !== undefined && !sameBytes.isConnected() ? sameBytes : undefined
  }

  async #keep(request: PushRequest, groups: readonly PreparedGroup[], digest: string): Promise<PushResult> {
    if (request.admit !== undefined && !(await request.admit(groups))) return drop(groups, { kind: "full" })
    // What is not in the store yet is dropped with its connection: the retry brings it again.
    return request.isConnected() ? this.#submit(request, groups, digest) : drop(groups, { kind: "gone" })
  }

  async #submit(request: PushRequest, groups: readonly PreparedGroup[], digest: string): Promise<PushResult> {
    const arriving = groups.map(({ size, envId, segment }) => {
      const environment = envId === "unknown" ? null : envId
      this.#presence.see(environment)
      return { id: this.#live.newGroupId(), environment, size, bytes: segment.length }
    })
    const payloads = groups.map(({ segment, crc32, jsonBytes, free = () => {} }, index) => {
      return { groupId: arriving[index]?.id ?? 0, segment, crc32, jsonBytes, free }
    })
    const step = Number(this.#live.run.step)
    const push = { type: "push", time: this.#live.now, step, digest, key: request.key, groups: arriving } as const
    const outcome = await this.#live.submit(push, { payloads })
    const result = this.#kept(request, digest, outcome, groups)
    if (request.isConnected()) return result
    result.lost()
    return { kind: "gone" }
  }

  #kept(
    { key }: PushRequest,
    digest: string,
    outcome: PushOutcome,
    kept: readonly PreparedGroup[] | null,
  ): Extract<PushResult, { kind: "kept" }> {
    // What has a key is known by that, whatever comes of its answer.
    const isKeyed = key !== null
    return {
      kind: "kept",
      outcome,
      kept,
      answered: () => (isKeyed ? undefined : this.#live.noteAnswered(digest)),
      lost: () => (isKeyed ? undefined : this.#live.run.pushes.lose(digest, this.#live.now)),
    }
  }

  /** A group that is larger than a batch could never leave. */
  #refuseTooLarge(kind: "one" | "list", groups: readonly PreparedGroup[]): Refusal | null {
    const { batchSize } = this.#live.run
    const problems = groups.flatMap(({ size }, index) => {
      if (size <= batchSize) return []
      const msg = `A group must fit in a batch: it has ${size} sequences, and the trainer's batch_size is ${batchSize}; send smaller groups or register a larger batch_size`
      const loc = kind === "one" ? ["body", "tokens"] : ["body", index, "tokens"]
      return [{ type: "too_long" as const, loc, msg, input: String(size) }]
    })
    return problems.length === 0 ? null : refuseProblems(problems)
  }
}

/** The answer to a push whose groups are not stored. */
function drop(groups: readonly PreparedGroup[], answer: PushResult): PushResult {
  for (const { free } of groups) free?.()
  return answer
}

const keyTaken: Refusal = {
  status: 422,
  contentType: "application/json",
  body: JSON.stringify({
    detail: [
      {
        type: "value_error",
        loc: ["header", "idempotency-key"],
        msg: "This Idempotency-Key came before with other bytes; give every push a key of its own, and a retry the same bytes",
        input: null,
      },
    ],
  }),
  reason: "idempotency_key",
}
