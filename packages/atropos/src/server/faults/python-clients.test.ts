import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { createMemoryStore } from "../stores/memory-store.ts"
import { createTrajectoryServer } from "../trajectory-server.ts"
import { type Exchange, parseTranscript, plain, replay, type Transcript } from "./python-client.ts"

type Json = Record<string, unknown>

const folder = new URL("../../../../../conformance/vectors/clients/", import.meta.url)
const transcripts = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => parseTranscript(readFileSync(new URL(file, folder), "utf8")))
  .filter(({ exchanges }) => exchanges !== undefined)

describe("the requests of recorded Python clients", () => {
  it.each(transcripts.map(({ name }) => name))("get what the client reads: %s", async (name) => {
    const { exchanges } = transcripts.find((transcript) => transcript.name === name)!
    const server = createTrajectoryServer({ store: createMemoryStore() })
    const call = caller(await server.listen({ host: "127.0.0.1", port: 0 }))
    try {
      let registered = false
      const pushed: Json[] = []
      for (const [index, exchange] of exchanges.entries()) {
        const where = `exchange ${index}, ${exchange.call}`
        if (isAbridged(exchange)) continue
        if (isFromServer(exchange) && exchange.status === 500) await call({ call: "GET /reset_data", status: 200 })
        if (!registered && needsTrainer(exchange)) {
          await call({ call: "POST /register", body: registrationOf(exchanges), status: 200 })
          await call({ call: "GET /batch", status: 200 })
          registered = true
        }
        for (const group of groupsFor(exchange, exchanges))
          await call({ call: "POST /scored_data", body: group, status: 200 })

        const answer = await call(exchange)
        expect(answer.contentType, where).toMatch(
          exchange.call === "GET /reset_data" ? /^text\/plain/ : /^application\/json/,
        )
        if (exchange.call === "GET /reset_data") {
          expect(answer.text, where).toBe("Reset successful")
          continue
        }
        // Where the recorded server failed and where an answer was made up, ours still has one for the client.
        expect(answer.status, where).toBe(isFromServer(exchange) && exchange.status === 422 ? 422 : 200)
        if (answer.status !== 200) continue
        expect(JSON.parse(answer.text), where).toMatchObject(whatIsRead(exchange))
        if (exchange.call.startsWith("POST /scored_data"))
          pushed.push(...[plain(exchange.body) as Json | Json[]].flat())
      }

      for (;;) {
        const { batch } = JSON.parse((await call({ call: "GET /batch", status: 200 })).text) as { batch: Json[] | null }
        if (batch === null || batch.length === 0) break
        for (const group of batch) {
          const sent = pushed.findIndex((candidate) => isSame(candidate, group))
          expect(sent, `a group of ${name} that no one pushed: ${JSON.stringify(group).slice(0, 200)}`).not.toBe(-1)
          pushed.splice(sent, 1)
        }
      }
    } finally {
      await server.close()
    }
  })
})

/** Sends exchanges with the headers that the client last sent with that call. */
function caller(url: string): (exchange: Exchange) => ReturnType<typeof replay> {
  const headers = new Map<string, Record<string, string>>()
  return (exchange) => {
    const sent = exchange.headers ?? headers.get(exchange.call) ?? { "Content-Type": "application/json" }
    headers.set(exchange.call, sent)
    return replay(url, exchange, sent)
  }
}

/** Whether the recording has only a part of a pushed group. */
function isAbridged({ call, body }: Exchange): boolean {
  return call === "POST /scored_data" && !("tokens" in (body as Json))
}

function isFromServer({ by, status }: Exchange): boolean {
  return by === undefined && status !== "aborted"
}

/** Whether what was recorded can only be when a trainer has registered and asked for a batch. */
function needsTrainer(exchange: Exchange): boolean {
  const answer = (plain(exchange.answer) ?? {}) as Json
  switch (exchange.call) {
    case "POST /register-env":
      return answer["status"] === "success"
    case "GET /info":
      return Number(answer["batch_size"]) > 0
    case "GET /wandb_info":
      return typeof answer["project"] === "string"
    case "GET /status-env":
      return isFromServer(exchange) && exchange.status === 200
    default:
      return false
  }
}

/** The registration that the recorded answers tell of. */
function registrationOf(exchanges: Transcript["exchanges"]): Json {
  const told = (call: string): Json =>
    exchanges
      .filter((exchange) => exchange.call === call && isFromServer(exchange))
      .map(({ answer }) => (plain(answer) ?? {}) as Json)
      .findLast((answer) => answer["status"] === "success" || Number(answer["batch_size"]) > 0 || answer["project"]) ??
    {}
  const environment = told("POST /register-env")
  const info = told("GET /info")
  const wandb = told("GET /wandb_info")
  return {
    wandb_group: wandb["group"] ?? "",
    wandb_project: wandb["project"] ?? "",
    batch_size: info["batch_size"] ?? 8,
    max_token_len: info["max_token_len"] ?? 256,
    checkpoint_dir: environment["checkpoint_dir"] ?? "",
    save_checkpoint_interval: environment["checkpoint_interval"] ?? 0,
    starting_step: environment["starting_step"] ?? 0,
    num_steps: environment["num_steps"] ?? 20,
  }
}

/** For a recorded batch: its first group, as often as it takes to form one. */
function groupsFor({ call, answer, by }: Exchange, exchanges: Transcript["exchanges"]): unknown[] {
  if (call !== "GET /batch" || by !== undefined) return []
  const [group] = (answer as { batch: ({ tokens: unknown[] } | string)[] | null }).batch ?? []
  if (group === undefined || typeof group === "string") return []
  const register = plain(exchanges.find((exchange) => exchange.call === "POST /register")?.body) as {
    batch_size: number
  }
  return Array<unknown>(register.batch_size / group.tokens.length).fill(group)
}

const number = expect.any(Number) as unknown
const text = expect.any(String) as unknown
const list = expect.any(Array) as unknown

/** What a client indexes in the answer without checking that it is there. */
function whatIsRead({ call, answer, by }: Exchange): object {
  const recorded = (by === undefined ? plain(answer) : {}) as Json
  switch (call) {
    case "POST /register-env":
      if (recorded["status"] !== "success") return { status: text }
      return { ...recorded, env_id: number, wandb_name: text }
    case "GET /status-env":
      return {
        current_step: number,
        queue_size: number,
        self_queue_size: number,
        max_group_size: number,
        env_weight: number,
        unallocated_fraction: number,
      }
    case "POST /register":
      return { uuid: number }
    case "GET /batch": {
      const [group] = (recorded["batch"] ?? []) as (Json | string)[]
      if (group === undefined || typeof group === "string") return { batch: null }
      const logprobs = Array.isArray(group["inference_logprobs"]) ? list : null
      const keys = { tokens: list, masks: list, scores: list, overrides: null, inference_logprobs: logprobs }
      return { batch: expect.arrayContaining([expect.objectContaining(keys)]) as unknown }
    }
    case "POST /scored_data":
      return { status: expect.stringMatching(/^(received|buffered)$/) as unknown }
    case "POST /scored_data_list":
      return { status: "received", groups_processed: number }
    case "GET /info":
    case "GET /wandb_info":
      return recorded
    case "GET /status":
      return { current_step: number, queue_size: number }
    default:
      throw new Error(`no client is known to call ${call}`)
  }
}

/** Whether a group came out as it went in; what was left out is null. */
function isSame(sent: Json, came: Json): boolean {
  return Object.entries(came).every(([key, value]) => JSON.stringify(sent[key] ?? null) === JSON.stringify(value))
}
