import type { FastifyReply } from "fastify"

/** Aborted when the client's connection ends before its answer has been written. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Whether an answer can still reach the client. */
export function isConnected(reply: FastifyReply): boolean {
  return !reply.raw.destroyed && reply.raw.socket?.destroyed === false
}
