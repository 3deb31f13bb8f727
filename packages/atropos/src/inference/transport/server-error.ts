import { AtroposError } from "../../runtime/errors.ts"
import { isObject, textOr } from "./read.ts"

/** What a server said of a failure, in whichever of its shapes. */
interface ServerComplaint {
  message: string
  /** `code` or `type` when they are words. */
  words: string[]
  /** An HTTP status inside the body. */
  status?: number
  retryable?: boolean
}

/** Spent quotas and unpaid bills come back with every repetition, whatever the status says. */
const hopelessWords = new Set(["insufficient_quota", "billing_hard_limit_reached", "insufficient_credits"])
const retryableStatuses = new Set([408, 409, 425, 429])

export function isRetryableStatus(status: number): boolean {
  return retryableStatuses.has(status) || status >= 500
}

/** The error for an answer with a failing status, from any server's body. `body` is its text. */
export function errorOfResponse(
  server: string,
  status: number,
  body: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): AtroposError {
  const complaint = readComplaint(parseOrUndefined(body)) ?? { message: plainText(body), words: [] }
  return toError(server, status, complaint, retryAfterMs(headers))
}

/** The error inside an answer that came with 200, or inside a stream; undefined when the body is no error. */
export function errorInBody(server: string, body: unknown): AtroposError | undefined {
  if (!isObject(body)) return undefined
  // SGLang's top-level shape, and OpenAI's with a null error in every good answer of the Responses route.
  const failed = (body["error"] !== undefined && body["error"] !== null) || body["object"] === "error"
  if (!failed) return undefined
  const complaint = readComplaint(body)
  if (complaint === undefined) return undefined
  return toError(server, complaint.status, complaint, undefined)
}

function toError(
  server: string,
  status: number | undefined,
  complaint: ServerComplaint,
  waitMs: number | undefined,
): AtroposError {
  const message = withoutServerPaths(complaint.message) || "(no message)"
  const hopeless = complaint.words.some((word) => hopelessWords.has(word))
  // A failure in mid-answer without a status is the upstream's: another attempt may go elsewhere.
  const retryable = !hopeless && (complaint.retryable ?? (status === undefined || isRetryableStatus(status)))
  const said = status === undefined ? "failed" : `answered ${status}`
  return new AtroposError("inference-request", `${server} ${said}: ${message}`, {
    retryable,
    facts: {
      serverMessage: message,
      ...(status === undefined ? {} : { status }),
      ...(complaint.words[0] === undefined ? {} : { serverCode: complaint.words[0] }),
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
      ...(status === 503 && /\bpaused\b/i.test(message) ? { paused: true } : {}),
    },
  })
}

function readComplaint(body: unknown): ServerComplaint | undefined {
  if (!isObject(body)) return undefined
  const { error, detail } = body
  if (typeof error === "string") return { message: error, words: [] }
  if (isObject(error)) return fromFields(error)
  if (typeof detail === "string") return { message: detail, words: [] }
  if (Array.isArray(detail)) return { message: detail.map(describeFieldIssue).join("; "), words: [] }
  if (typeof body["message"] === "string") return fromFields(body)
  return undefined
}

function fromFields(fields: Record<string, unknown>): ServerComplaint {
  const { message, code, type, metadata, retryable } = fields
  const number = typeof code === "number" ? code : typeof code === "string" ? Number(code) : Number.NaN
  const raw = isObject(metadata) && typeof metadata["raw"] === "string" ? ` (${metadata["raw"]})` : ""
  return {
    message: (typeof message === "string" ? message : "") + raw,
    words: [code, type].filter((word) => typeof word === "string" && Number.isNaN(Number(word))) as string[],
    ...(number >= 400 && number < 600 ? { status: number } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  }
}

/** One entry of FastAPI's list: where and what. */
function describeFieldIssue(issue: unknown): string {
  if (!isObject(issue)) return String(issue)
  const where = Array.isArray(issue["loc"]) ? `${issue["loc"].join(".")}: ` : ""
  return where + textOr(issue["msg"], "")
}

/** Seconds or an HTTP date, or milliseconds in the header some providers add. */
function retryAfterMs(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const milliseconds = Number(headers["retry-after-ms"] ?? Number.NaN)
  if (milliseconds >= 0) return milliseconds
  const header = headers["retry-after"]
  if (typeof header !== "string") return undefined
  const seconds = Number(header)
  if (seconds >= 0) return seconds * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

/** Servers repeat what they refuse, which may be a whole prompt. */
const longestMessage = 2000

/** Validation texts of SGLang end on its source file and line, which are nobody's business. */
function withoutServerPaths(message: string): string {
  const cut = message.search(/\n\s*File "/)
  const kept = (cut === -1 ? message : message.slice(0, cut)).trim()
  return kept.length > longestMessage ? `${kept.slice(0, longestMessage)}…` : kept
}

function plainText(body: string): string {
  const text = body
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim()
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
