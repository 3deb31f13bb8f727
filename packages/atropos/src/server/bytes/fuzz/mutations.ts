import fc from "fast-check"

// Texts for comparing the scanners with the exact path: groups as producers write them, and then small damage.

const integer = fc.oneof(
  fc.integer({ min: 0, max: 128_000 }).map(String),
  fc.constantFrom("0", "-100", "1", "-1", "9007199254740993", "123456789012345678901234567890"),
)
const float = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: -2_000_000_000, max: 0 }).map((units) => (units / 1e8).toFixed(8)) },
  { weight: 5, arbitrary: fc.constantFrom("1.0", "0.0", "-0.0", "1", "-1", "1e-05", "-2.384185791015625e-07", "1E5") },
  { weight: 2, arbitrary: fc.double({ min: -20, max: -1e-9, noNaN: true }).map((value) => JSON.stringify(value)) },
)
/** Also such as need a second look: exponents of three digits. */
const anyFloat = fc.oneof(
  { weight: 60, arbitrary: float },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)) },
)
const key = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom("role", "content", "tool_calls", "a", "", "é"))
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom('"\\/\b\f\n\r\t', "\u2028", "😀", "user", "assistant"),
)

function writeString(value: string, escapes: boolean): string {
  const json = JSON.stringify(value)
  if (!escapes) return json
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

const string = fc.tuple(text, fc.boolean()).map(([value, escapes]) => writeString(value, escapes))
const anyValue = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(integer, anyFloat, string, fc.constantFrom("null", "true", "false")),
    fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    tie("object"),
  ),
  object: fc
    .uniqueArray(fc.tuple(key, tie("value")), { maxLength: 4, selector: ([name]) => name })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`),
}))
const message = fc
  .tuple(string, fc.oneof(string, anyValue.value), fc.option(anyValue.value))
  .map(([role, content, extra]) => `{"role":${role},"content":${content}${extra === null ? "" : `,"extra":${extra}`}}`)

const list = (items: readonly string[]): string => `[${items.join(",")}]`
const rowsOf = (lengths: readonly number[], number: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(...lengths.map((length) => fc.array(number, { minLength: length, maxLength: length })))
    .map((rows) => list(rows.map(list)))

/** Groups that are right or nearly so: compact, or spaced as Python spaces them. */
export const groupText: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 5, arbitrary: fc.nat(12) }, { weight: 1, arbitrary: fc.nat(80) }), {
    minLength: 1,
    maxLength: 4,
  })
  .chain((lengths) => {
    const optional = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
      fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: fc.constantFrom("null", "[]") })
    const cubes = (number: fc.Arbitrary<string>): fc.Arbitrary<string> =>
      rowsOf(lengths, fc.array(number, { maxLength: 4 }).map(list))
    const fields = fc.record(
      {
        tokens: rowsOf(lengths, integer),
        masks: rowsOf(lengths, integer),
        scores: fc.array(float, { minLength: lengths.length, maxLength: lengths.length }).map(list),
        advantages: optional(rowsOf(lengths, float)),
        ref_logprobs: optional(rowsOf(lengths, float)),
        messages: optional(fc.array(fc.array(message, { maxLength: 3 }).map(list), { maxLength: 3 }).map(list)),
        generation_params: fc.oneof(anyValue.object, fc.constant("null")),
        inference_logprobs: optional(rowsOf(lengths, float)),
        overrides: optional(fc.array(anyValue.object, { maxLength: 3 }).map(list)),
        group_overrides: fc.oneof(anyValue.object, fc.constant("null")),
        images: anyValue.value,
        env_id: fc.constantFrom("0", "7", "null", "123456789012345"),
        distill_token_ids: optional(cubes(integer)),
        distill_logprobs: optional(cubes(float)),
      },
      { requiredKeys: ["tokens", "masks", "scores"] },
    )
    return fc.tuple(fields, fc.boolean(), fc.infiniteStream(fc.nat(1000))).map(([members, spaced, order]) => {
      const entries = Object.entries(members)
        .map((entry) => ({ entry, at: order.next().value ?? 0 }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ entry: [name, value] }) => `"${name}":${value}`)
      const compact = `{${entries.join(",")}}`
      return spaced ? addSpaces(compact) : compact
    })
  })

/** As Python's json.dumps spaces: behind each comma and colon outside of strings. */
function addSpaces(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|[,:]/gs, (part) => (part === "," || part === ":" ? `${part} ` : part))
}

const snippets = [
  ...' ,:[]{}"\\0123456789-+.eEtfn\n\t\u0000\u001f\u007fé'.split(""),
  "null",
  "true",
  "NaN",
  "-Infinity",
  "Infinity",
  "[]",
  "{}",
  '""',
  "0",
  "00",
  "-0",
  "-0.0",
  "1.",
  ".5",
  "1e5",
  "1e99",
  "1e999",
  "1e-400",
  "\\u0041",
  "\\ud800",
  "\\ud83d\\ude00",
  "\\x",
  '"5"',
  '"1_0"',
  "  ",
  ", ",
  ",,",
  "[1,2]",
  "[[1]]",
  '"tokens":',
  '"role"',
  '"role":1,',
  '"x":1,',
  "9".repeat(30),
  "9".repeat(31),
  `0.${"3".repeat(31)}`,
  "1".repeat(70),
  "[".repeat(70),
  "\ufeff",
  "/*c*/",
]

export interface Mutation {
  /** Where, as a share of the text. */
  at: number
  /** How many characters go. */
  removed: number
  /** What comes in their place. */
  inserted: string
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.oneof({ weight: 8, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(60) }),
  inserted: fc.oneof(fc.constantFrom(...snippets), fc.constant("")),
})

export function mutate(text: string, mutations: readonly Mutation[]): string {
  return mutations.reduce((current, { at, removed, inserted }) => {
    const position = Math.floor(at * current.length)
    return current.slice(0, position) + inserted + current.slice(position + removed)
  }, text)
}
