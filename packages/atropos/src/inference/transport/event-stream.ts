/** One event of a server-sent stream. */
export interface ServerEvent {
  event: string | undefined
  data: string
}

/** Reads server-sent events from pieces of bytes cut anywhere; comment lines and other fields are skipped. */
export async function* readEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  let event: string | undefined
  let data: string[] = []
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true })
    let start = 0
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", start)) {
      const line = rest.slice(start, rest.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end)
      start = end + 1
      if (line === "") {
        if (data.length > 0) yield { event, data: data.join("\n") }
        event = undefined
        data = []
      } else if (line.startsWith("data:")) {
        data.push(line.slice(line.charCodeAt(5) === 32 ? 6 : 5))
      } else if (line.startsWith("event:")) {
        event = line.slice(6).trim()
      }
    }
    rest = rest.slice(start)
  }
  // Some servers end without the last blank line.
  if (rest.startsWith("data:")) data.push(rest.slice(5).trim())
  if (data.length > 0) yield { event, data: data.join("\n") }
}
