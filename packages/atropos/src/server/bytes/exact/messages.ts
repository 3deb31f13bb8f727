import { nextEntry, readString } from "../json/json-walk.ts"
import { type Exact, type Range, writeList } from "./exact.ts"
import { writeObject } from "./free-form.ts"

/** Writes the messages: per sequence a list of objects with at least `role` and `content`. */
export function writeMessages(exact: Exact, start: number): number {
  return writeMessageList(exact, start, (sequence) =>
    writeMessageList(exact, sequence, (message) => writeMessage(exact, message)),
  )
}

/** The reference walks over what has entries, a text or an object too, and finds no messages in it. */
function writeMessageList(exact: Exact, start: number, entry: (position: number) => number): number {
  const { bytes } = exact
  const hasEntries = bytes[start] === 0x22 ? bytes[start + 1] !== 0x22 : nextEntry(bytes, start + 1) >= 0
  if ((bytes[start] !== 0x22 && bytes[start] !== 0x7b) || !hasEntries) return writeList(exact, start, entry)
  return exact.refuse(start, "value_error", "Value error, messages are a list of messages for each sequence")
}

function writeMessage(exact: Exact, start: number): number {
  const first = exact.bytes[start]
  if (first !== 0x7b) {
    const type = first === 0x22 || first === 0x5b ? "value_error" : "dict_type"
    return exact.refuse(start, type, "Input should be a message: an object with at least role and content")
  }
  const { end, members } = writeObject(exact, start)
  const missing = ["role", "content"].filter((key) => !members.has(key))
  if (missing.length > 0 && !(missing[0] === "content" && callsTools(exact.bytes, members))) {
    exact.report(
      "value_error",
      `Value error, a message needs role and content, this one has no ${missing.join(" and no ")}; an assistant message with a non-empty tool_calls list may lack content`,
      { start, end },
    )
  }
  return end
}

/** OpenAI lets an assistant message that calls tools go without content. */
function callsTools(bytes: Uint8Array, members: ReadonlyMap<string, Range>): boolean {
  const role = members.get("role")
  const calls = members.get("tool_calls")
  if (role === undefined || bytes[role.start] !== 0x22) return false
  if (readString(bytes, role.start, role.end) !== "assistant") return false
  return calls !== undefined && bytes[calls.start] === 0x5b && nextEntry(bytes, calls.start + 1) >= 0
}
