import { z } from "zod"

const fault = z.object({
  type: z.string().optional(),
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
})
const refusal = z.object({ detail: z.union([z.string(), z.array(fault)]) })

const faultsShown = 3
const lettersShown = 300

/**
 * A server's own words on a refusal, short: of a list of faults each one's place and message, never the values that
 * it echoes.
 */
export function describeRefusal(text: string): string {
  const parsed = refusal.safeParse(parseJson(text))
  if (!parsed.success) return text === "" ? "without a word" : shorten(text)
  const { detail } = parsed.data
  if (typeof detail === "string") return shorten(detail)
  const shown = detail.slice(0, faultsShown).map(({ loc, msg }) => `${place(loc)}: ${shorten(msg)}`)
  const more = detail.length > faultsShown ? [`and ${detail.length - faultsShown} more`] : []
  return [...shown, ...more].join("; ")
}

/** `["body", 2, "tokens", 0]` as `[2].tokens[0]`. */
function place(loc: readonly (string | number)[]): string {
  const steps = loc[0] === "body" ? loc.slice(1) : loc
  if (steps.length === 0) return "the body"
  return steps.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("")
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not every server or proxy answers in JSON: its text is shown then.
    return null
  }
}

function shorten(text: string): string {
  return text.length > lettersShown ? `${text.slice(0, lettersShown)}…` : text
}
