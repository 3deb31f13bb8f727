import { createHash, timingSafeEqual } from "node:crypto"

import type { FastifyInstance, FastifyRequest } from "fastify"

import { sendFault } from "./answers.ts"

export interface AccessOptions {
  /** What callers must know, or null. */
  readonly token: string | null
  /** Whether anybody may do anything. */
  readonly insecure: boolean
  /** The web origin that may call, or null. */
  readonly cors: string | null
}

/** Turns away who does not know the token, and web pages of other origins: a browser would call in their name. */
export function addAccessControl(
  app: FastifyInstance,
  options: AccessOptions,
  refused: (reason: string) => void,
): void {
  const { token, cors, insecure } = options
  const isLocal = token === null && !insecure
  app.addHook("onRequest", async (request, reply) => {
    if (isFromAnotherPage(request, cors) || (isLocal && isUnderAnotherName(request))) {
      refused("cross_origin")
      return sendFault(
        request,
        reply,
        403,
        "This server takes no calls from web pages of another origin; start it with --cors ORIGIN to allow one",
      )
    }
    if (token === null || isFree(request) || knowsToken(request, token)) return
    refused("token")
    void reply.header("www-authenticate", 'Bearer, Basic realm="atropos"')
    return sendFault(
      request,
      reply,
      401,
      "This server wants its token: send Authorization: Bearer TOKEN, or put it in the address as http://user:TOKEN@host:port",
    )
  })
}

/** Whether a caller may throw a run away: with the token, from this machine, or when anybody may. */
export function mayReset(
  request: FastifyRequest,
  { token, insecure }: Pick<AccessOptions, "token" | "insecure">,
): boolean {
  return token !== null || insecure || isLoopback(request.socket.remoteAddress ?? "")
}

export function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address)
}

/** Health probes have no secrets to send. */
function isFree(request: FastifyRequest): boolean {
  return request.routeOptions.url === "/health"
}

/** As a bearer token, or as the password of Basic, which HTTP clients send for credentials in an address. */
function knowsToken(request: FastifyRequest, token: string): boolean {
  const [scheme = "", credentials = ""] = request.headers.authorization?.split(/\s+/, 2) ?? []
  if (scheme.toLowerCase() === "bearer") return isSame(credentials, token)
  if (scheme.toLowerCase() !== "basic") return false
  const text = Buffer.from(credentials, "base64").toString()
  return isSame(text.slice(text.indexOf(":") + 1), token)
}

/** Compares without telling by the time it takes how much was right. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}

/** A page whose own host name was made to point at this machine: to its browser it is of the same origin. */
function isUnderAnotherName(request: FastifyRequest): boolean {
  const { headers } = request
  const isBrowser = headers["sec-fetch-site"] !== undefined || headers.origin !== undefined
  return isBrowser && !isLoopback(request.hostname.replace(/^\[(.*)\]$/, "$1"))
}

function isFromAnotherPage(request: FastifyRequest, cors: string | null): boolean {
  const { origin } = request.headers
  if (origin !== undefined && (origin === cors || cors === "*")) return false
  const site = request.headers["sec-fetch-site"]
  // A page that the user typed in or that this server sent is `none` or `same-origin`; programs send no such header.
  if (site !== undefined) return site !== "none" && site !== "same-origin"
  return origin !== undefined && new URL(origin, "http://none.invalid").host !== request.headers.host
}
