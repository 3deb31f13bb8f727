import type { Socket } from "node:net"

/** Answers what is no whole HTTP request, and closes. Gives the reason in a word. */
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Pick<Socket, "writable" | "end" | "destroy">,
): string {
  const { status, reason, detail } = explain(error.code)
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return "connection_reset"
  }
  const body = JSON.stringify({ detail })
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`
  socket.end(head + body, () => socket.destroy())
  return reason
}

function explain(code: string | undefined): { status: string; reason: string; detail: string } {
  switch (code ?? "") {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return {
        status: "408 Request Timeout",
        reason: "headers_timeout",
        detail: "The request did not come in time; send it faster or raise --headers-timeout",
      }
    case "HPE_HEADER_OVERFLOW":
      return {
        status: "431 Request Header Fields Too Large",
        reason: "headers_too_large",
        detail: "The request's headers are larger than 16 KB; send fewer or shorter ones",
      }
    default:
      return { status: "400 Bad Request", reason: "bad_request", detail: "This is no HTTP/1.1 request" }
  }
}
