import type { FastifyReply } from "fastify"

/** Aborted when the client's connection ends before its answer has been written. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Whether an answer can still reach the client. One that waits behind others of its connection has no socket yet. */
export function isConnected(reply: FastifyReply): boolean {
  return !reply.raw.destroyed && !reply.request.raw.socket.destroyed
}
