// Where our server answers otherwise than the original, on purpose (docs/server.md has the table). Each entry says when
// it applies and what ours has to answer then: whatever is not said here is a fault.
import type { WireAnswer } from "../../suites/wire/exchange.ts"
import { isLiteralNumber, isLiteralObject, type LiteralJson, parseLiteralJson } from "../../suites/wire/literal-json.ts"
import type { Call } from "./calls.ts"
import { spell } from "./calls.ts"
import { describeRegistration, groupsOf, type KnownRun, readNumber } from "./known-run.ts"

/** A call and what came of it; `known` is from before the call. */
export interface Exchanged {
  readonly call: Call
  readonly theirs: WireAnswer
  readonly ours: WireAnswer
  readonly known: KnownRun
}

export interface Deliberate {
  readonly name: string
  applies(exchanged: Exchanged): boolean
  /** Whether ours answered as it should. */
  ours(exchanged: Exchanged): boolean
}

const ownWords = ["finite_number", "string_unicode", "too_short", "too_long", "length_mismatch"]
const bounds = ["greater_than_equal", "less_than_equal"]

/** After these the two runs are no longer the same. */
export const partings: readonly Deliberate[] = [
  {
    name: "data pushed before any registration is kept",
    applies: ({ call, ours, known }) => ours.status === 200 && known.registration === null && groupsOf(call).length > 0,
    ours: () => true,
  },
  {
    name: "a registration with other values applies",
    applies: ({ call, ours, known }) =>
      ours.status === 200 &&
      call.path === "/register" &&
      known.registration !== null &&
      known.registration !== describeRegistration(fieldsOf(call)),
    ours: ({ ours }) => textOf(ours, "status") === "updated",
  },
  {
    name: "what is out of range is refused",
    applies: ({ theirs, ours }) =>
      theirs.status === 200 && isRefusedFor(ours, [...bounds, ...ownWords]) && !isRefusedFor(ours, ownWords),
    ours: ({ call }) => call.path.startsWith("/register"),
  },
  {
    name: "what trainers would crash on is refused",
    applies: ({ theirs, ours }) => theirs.status !== 422 && isRefusedFor(ours, ownWords),
    ours: () => true,
  },
  {
    name: "an assistant's message with tool calls needs no content",
    applies: ({ call, theirs, ours }) =>
      theirs.status === 422 && ours.status === 200 && spelledOf(call).includes("tool_calls"),
    ours: () => true,
  },
  {
    name: "a negative env_id is nobody's",
    applies: ({ call, ours, known }) =>
      ours.status === 200 &&
      (groupsOf(call).some(({ environment }) => (environment ?? 0) < 0) ||
        (call.path === "/disconnect-env" && idOf(call) < 0 && known.environments.length > 0)),
    ours: ({ call, ours }) => call.path !== "/disconnect-env" || textOf(ours, "status") === "failure",
  },
  {
    name: "a group larger than group_size goes to the queue",
    applies: ({ call, ours, known }) =>
      ours.status === 200 &&
      groupsOf(call).some((group) => group.size > (known.environmentOf(group)?.groupSize ?? Infinity)),
    ours: ({ call, ours }) => call.path !== "/scored_data" || textOf(ours, "status") === "received",
  },
  {
    name: "a buffer completes with its oldest groups",
    applies: ({ call, ours, known }) => ours.status === 200 && known.choosesApart(groupsOf(call)),
    ours: () => true,
  },
  {
    name: "a new environment inherits nothing that was pushed under its id",
    applies: ({ call, ours, known }) =>
      call.path === "/register-env" &&
      textOf(ours, "status") === "success" &&
      known.queue.some(({ environment }) => environment === known.environments.length),
    ours: () => true,
  },
  {
    name: "a group_size of any magnitude is taken",
    applies: ({ call, theirs, ours, known }) =>
      theirs.status === 500 &&
      ours.status === 200 &&
      groupsOf(call).some((group) => (known.environmentOf(group)?.groupSize ?? 0) > 1e9),
    ours: () => true,
  },
  {
    name: "a poll after a reset is answered as one before any registration",
    applies: ({ call, known }) => isBatch(call) && known.registration === null && known.wasReset,
    ours: ({ ours }) => textOf(ours, "status") === "error",
  },
]

/** These leave both runs the same. */
export const allowances: readonly Deliberate[] = [
  {
    name: "why an environment could not be disconnected is said in other words",
    applies: ({ call, theirs }) => call.path === "/disconnect-env" && textOf(theirs, "status") === "failure",
    ours: ({ ours }) => textOf(ours, "status") === "failure" && textOf(ours, "error") !== null,
  },
  {
    name: "a reset forgets the latest example and max_token_len",
    applies: ({ call, known }) =>
      known.wasReset &&
      ((call.path === "/latest_example" && !known.hasLatest) || (call.path === "/info" && known.registration === null)),
    ours: ({ ours }) =>
      ['{"tokens":[],', '{"batch_size":-1,"max_token_len":-1}'].some((text) => ours.text.startsWith(text)),
  },
  {
    name: "an id that means nothing is answered usably, and marked",
    applies: ({ call, known }) =>
      call.path === "/status-env" && (known.registration === null || known.environments[idOf(call)] === undefined),
    ours: ({ ours }) => ours.status === 200 && /"env_weight":1.0,"registered":false}$/.test(ours.text),
  },
  {
    name: "weights that are all nothing are shared evenly",
    applies: ({ call, theirs }) => call.path === "/status-env" && theirs.status === 500,
    ours: ({ ours }) => numberOf(ours, "env_weight") === 1,
  },
  {
    name: "others' single sequences count in queue_size, and what nobody owns counts together",
    applies: ({ call, known, theirs }) =>
      call.path === "/status-env" &&
      theirs.status === 200 &&
      (known.queue.every(({ size }) => size === 1) ||
        new Set(
          known.queue.filter((group) => known.environmentOf(group) === undefined).map(({ environment }) => environment),
        ).size > 1),
    ours: ({ theirs, ours }) => isSameBut(theirs, ours, "queue_size"),
  },
  {
    name: "messages of a wrong shape are a 422",
    applies: ({ call, theirs }) => theirs.status === 500 && spelledOf(call).includes('"messages"'),
    ours: ({ ours }) => ours.status === 422,
  },
  {
    name: "a refusal that repeats what is no JSON is a 422",
    applies: ({ call, theirs }) => theirs.status === 500 && /NaN|Infinity|1e[49]\d\d|\\ud800/.test(spelledOf(call)),
    ours: ({ ours }) => ours.status === 422,
  },
]

export function isBatch({ method, path }: Call): boolean {
  return method === "GET" && path === "/batch"
}

export function fieldsOf({ body }: Call): Readonly<Record<string, string>> {
  return body !== null && "fields" in body ? body.fields : {}
}

function spelledOf({ body }: Call): string {
  return body === null ? "" : spell(body)
}

export function idOf(call: Call): number {
  return readNumber(fieldsOf(call)["env_id"]) ?? NaN
}

function jsonOf(answer: WireAnswer): LiteralJson {
  try {
    return parseLiteralJson(answer.text)
  } catch {
    return null
  }
}

export function fieldOf(answer: WireAnswer, name: string): LiteralJson | undefined {
  const json = jsonOf(answer)
  return isLiteralObject(json) ? json.entries.get(name) : undefined
}

export function textOf(answer: WireAnswer, name: string): string | null {
  const value = fieldOf(answer, name)
  return typeof value === "string" ? value : null
}

function numberOf(answer: WireAnswer, name: string): number {
  const value = fieldOf(answer, name)
  return value !== undefined && value !== null && isLiteralNumber(value) ? Number(value.literal) : NaN
}

function isSameBut(theirs: WireAnswer, ours: WireAnswer, name: string): boolean {
  const without = (answer: WireAnswer): string => answer.text.replace(new RegExp(`"${name}":-?\\d+,`), "")
  return without(theirs) === without(ours)
}

/** Whether it is a 422 for nothing but these. */
function isRefusedFor(answer: WireAnswer, types: readonly string[]): boolean {
  const detail = fieldOf(answer, "detail")
  if (answer.status !== 422 || !Array.isArray(detail)) return false
  return detail.every((entry) => {
    const type = isLiteralObject(entry) ? entry.entries.get("type") : null
    return typeof type === "string" && types.includes(type)
  })
}
