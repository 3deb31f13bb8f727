import fc from "fast-check"

/** A value as it is spelled on the wire. */
export type Spelling = string

/** A call as it is sent. A body is either fields, each as spelled, or a text of its own. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly body: CallBody | null
  readonly contentType?: string | null
  readonly gzip?: boolean
}

export type CallBody =
  | { readonly fields: Readonly<Record<string, Spelling>> }
  | { readonly groups: readonly Readonly<Record<string, Spelling>>[] }
  | { readonly text: string }

export function spell(body: CallBody): string {
  if ("text" in body) return body.text
  return "groups" in body ? `[${body.groups.map(spellFields).join(",")}]` : spellFields(body.fields)
}

function spellFields(fields: Readonly<Record<string, Spelling>>): string {
  return `{${Object.entries(fields)
    .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
    .join(",")}}`
}

/** What can stand where a value is expected, and mostly should not. */
const oddValues: readonly Spelling[] = [
  ["null", "true", "false", '""', '"x"', '"5"', '" 5 "', '"-07"', '"5.0"', '"1_0"', '"1e3"', '"0x10"', '"٣"'],
  ["5", "-5", "5.0", "5.5", "1e2", "-0", "-0.0", "1e999", "NaN", "Infinity", "-Infinity", '"nan"', '"inf"'],
  ["9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "9.5e18", '"1.5"', '".5"'],
  ["[]", "{}", "[[]]", "[[1]]", "[[5],[6]]", "[1]", "[[1.5]]", '[["1"]]', "[[true]]", "[null]", "[[null]]"],
  ['[[{"role":"user","content":"x"}]]', '[[{"role":"user"}]]', '[[{"role":"assistant","tool_calls":[{}]}]]'],
  ["[[5]]", '{"a":1.0,"b":[1,1e400]}', '{"a":1,"a":2.50}', '"\\ud800"', '"\\ud83d\\ude00"', '["x"]', "[{}]", "[[[1]]]"],
].flat()

/** What is no body of any call. */
const oddBodies: readonly string[] = [
  ["", " ", "null", "5", '"x"', "[]", "{}", "[{}]", "[[]]", "[5]", "[null]", "{", "[", "{]", '{"a":1,}', "[1,]"],
  ["01", '{"a" 1}', "{'a':1}", '{"a":1}{"b":2}', "nul", "tru", '"a\nb"', "\ufeff{}", "//\n{}", '{"env_id":0}x'],
].flat()

const oneOf = <Value>(...values: Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values)

const trainer = fc.record({
  wandb_group: oneOf('"g"', '"g"', '"ü\\n"'),
  wandb_project: fc.constant('"p"'),
  batch_size: oneOf("8", "8", "16", "4", "12", "32"),
  max_token_len: oneOf("64", '"64"'),
  checkpoint_dir: fc.constant('"/c"'),
  save_checkpoint_interval: oneOf("5", "-1"),
  starting_step: oneOf("0", "3"),
  num_steps: fc.constant("100"),
})

const environmentFields = {
  max_token_length: oneOf("16", "32", "100", "0"),
  desired_name: oneOf('"a"', '"b"'),
  weight: oneOf("1", "0", "-1", "0.5", "3", "1.0"),
  group_size: oneOf("4", "4", "4", "4", "4", "4", "4", "4", "8", "8", "2", "1"),
}
const environment = fc.oneof(
  { weight: 3, arbitrary: fc.record(environmentFields) },
  {
    weight: 1,
    arbitrary: fc.record({ ...environmentFields, min_batch_allocation: oneOf("null", "0", "0.25", "0.5") }),
  },
)

/** Groups are told apart by their first token. */
const group = fc
  .record({
    id: fc.nat(1e9),
    size: fc.oneof(
      { weight: 40, arbitrary: oneOf(4, 4, 4, 2, 2, 1) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) },
    ),
    env_id: fc.oneof(
      { weight: 30, arbitrary: oneOf("0", "0", "1", "1", "null") },
      { weight: 1, arbitrary: oneOf("2", "7", "-1") },
    ),
    others: fc.record(
      {
        advantages: oneOf("null", "[]", "each:[0,1.5]"),
        ref_logprobs: oneOf("null", "each:[-1,-0.25]"),
        messages: oneOf(
          "null",
          "[]",
          'each:[{"role":"user","content":"ü","reward":1}]',
          'each:[{"role":"a","content":null}]',
        ),
        generation_params: oneOf("null", "{}", '{"temperature":1.0,"n":12345678901234567890,"x":[1.50,null]}'),
        inference_logprobs: oneOf("null", "each:[1,-0.5]", "each:[1.0,-1e-7]"),
        overrides: oneOf("null", "[]", 'each:{"set_advantage_to_zero":true}'),
        group_overrides: oneOf("null", '{"group_size":2}'),
        images: oneOf("null", "[]", '"data:"', 'each:{"url":[1]}'),
        distill_token_ids: oneOf("null", "each:[[1,2],[3]]"),
        distill_logprobs: oneOf("null", "each:[[-1,-2.5],[0]]"),
        unknown: oneOf("1", "{}"),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ id, size, env_id, others }) => {
    const rows = (row: (index: number) => string): string =>
      `[${Array.from({ length: size }, (_, at) => row(at)).join(",")}]`
    const spelled = Object.entries(others).map(([name, value]) => {
      return [name, value.startsWith("each:") ? rows(() => value.slice(5)) : value]
    })
    return {
      tokens: rows((row) => `[${id},${row}]`),
      masks: rows((row) => `[-100,${row}]`),
      scores: rows((row) => ["1", "-0.5", "0.25", "1e-3"][row % 4] ?? "0"),
      ...(env_id === "null" ? {} : { env_id }),
      ...(Object.fromEntries(spelled) as Record<string, Spelling>),
    } as Record<string, Spelling>
  })

const id = fc.oneof(
  { weight: 8, arbitrary: oneOf("0", "0", "1", "1", "2") },
  { weight: 1, arbitrary: oneOf("9", "-1") },
)
const identifier = fc.record({ env_id: id })

const asCall =
  (method: string, path: string) =>
  (fields: Readonly<Record<string, Spelling>>): Call => ({ method, path, body: { fields } })
const plain = (path: string): fc.Arbitrary<Call> => fc.constant({ method: "GET", path, body: null })

const register = trainer.map(asCall("POST", "/register"))
const registerEnvironment = environment.map(asCall("POST", "/register-env"))
const push = group.map(asCall("POST", "/scored_data"))
const pushList = fc.array(group, { maxLength: 4 }).map((groups): Call => {
  return { method: "POST", path: "/scored_data_list", body: { groups } }
})
const status = identifier.map(asCall("GET", "/status-env"))
const disconnect = identifier.map(asCall("POST", "/disconnect-env"))

/** As it is, or as an entry of what a field may hold. */
const oddValue = fc
  .tuple(
    oneOf(...oddValues),
    oneOf("V", "V", "[V]", "[[V]]", "[[1,V]]", "[[[V]]]", '{"a":V}', '[[{"role":V,"content":V}]]'),
  )
  .map(([value, frame]) => frame.replaceAll("V", () => value))

/** One field is odd, missing, or goes by another name. */
const fieldChange = fc.record({
  field: fc.nat(20),
  group: fc.nat(3),
  value: fc.oneof({ weight: 5, arbitrary: oddValue }, { weight: 1, arbitrary: fc.constant(null) }),
})

const withOddField = fc
  .tuple(fc.oneof(register, registerEnvironment, push, push, pushList, status, disconnect), fieldChange)
  .map(([call, { field, group: place, value }]): Call => {
    const { body } = call
    if (body === null || "text" in body) return call
    const change = (fields: Readonly<Record<string, Spelling>>): Record<string, Spelling> => {
      const names = Object.keys(fields)
      const name = names[field % names.length] ?? ""
      const others = Object.fromEntries(Object.entries(fields).filter(([other]) => other !== name))
      return value === null ? others : { ...others, [name]: value }
    }
    if ("fields" in body) return { ...call, body: { fields: change(body.fields) } }
    const groups = body.groups.map((fields, index) => (index === place % body.groups.length ? change(fields) : fields))
    return { ...call, body: { groups } }
  })

const calls = ["/register", "/register-env", "/scored_data", "/scored_data_list", "/disconnect-env"]
const withOddBody = fc
  .tuple(
    oneOf<readonly [string, string]>(...calls.map((path) => ["POST", path] as const), ["GET", "/status-env"]),
    oneOf(...oddBodies),
    oneOf(
      "application/json",
      "application/json",
      "Application/JSON; charset=utf-8",
      "text/plain",
      "application/x+json",
      null,
    ),
    fc.boolean(),
  )
  .map(([[method, path], text, contentType, gzip]): Call => ({ method, path, body: { text }, contentType, gzip }))

const elsewhere = fc
  .tuple(
    oneOf("GET", "POST", "PUT", "DELETE", "PATCH"),
    oneOf("/", "/nothing", "/batch", "/register", "/status", "/info"),
  )
  .filter(([method, path]) => !(method === "GET" && path === "/batch") && !(method === "POST" && path === "/register"))
  .map(([method, path]): Call => ({ method, path, body: null }))

/** `GET /batch` stands for polling until there is no batch. */
const anyCall = fc.oneof(
  { weight: 1, arbitrary: register },
  { weight: 2, arbitrary: registerEnvironment },
  { weight: 20, arbitrary: push },
  { weight: 6, arbitrary: pushList },
  { weight: 8, arbitrary: plain("/batch") },
  { weight: 5, arbitrary: plain("/status") },
  { weight: 10, arbitrary: status },
  { weight: 1, arbitrary: disconnect },
  { weight: 4, arbitrary: fc.oneof(plain("/latest_example"), plain("/info"), plain("/wandb_info"), plain("/")) },
  { weight: 1, arbitrary: plain("/reset_data") },
  { weight: 6, arbitrary: withOddField },
  { weight: 4, arbitrary: withOddBody },
  { weight: 1, arbitrary: elsewhere },
)

const usualStart = fc.tuple(register, plain("/batch"), registerEnvironment, registerEnvironment)

/** Either from nothing, or with a trainer that has begun to poll and two environments. */
const sequence = fc
  .tuple(
    fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 9, arbitrary: usualStart }),
    fc.array(anyCall, { minLength: 10, maxLength: 80, size: "max" }),
  )
  .map(([start, rest]): Call[] => [...start, ...rest])

/** So many random sequences of calls, always the same ones for a seed. */
export function randomSequences(seed: number, count: number): Call[][] {
  return fc.sample(sequence, { seed, numRuns: count })
}
