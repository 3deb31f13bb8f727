import { z } from "zod"

const bytes = z.number().int().min(1)
const seconds = z.number().min(0)

/** Every bound of the server: its default and what happens at it. Flags and the table in docs/server.md come from here. */
export const serverLimits = z.object({
  maxBody: bytes.default(256e6).describe("Bytes of a request body as sent; a larger one is answered with 413"),
  maxInflated: bytes.default(2e9).describe("Bytes of a body after gzip; a larger one is answered with 413"),
  maxNesting: z.int().min(300).default(512).describe("Levels of a body's JSON; a deeper one is answered with 400"),
  maxSequences: z.int().min(1).default(65_536).describe("Sequences of a group; a larger one is answered with 422"),
  maxQueue: bytes
    .default(16e9)
    .describe("Bytes of queued groups as stored; pushes beyond are held, then answered with 503"),
  maxBodyMemory: bytes
    .default(1e9)
    .describe("Bytes of bodies in memory at one time; pushes beyond are held, then answered with 503"),
  maxHold: seconds
    .default(30)
    .describe("Seconds for which a push is held before it is answered with 503 and Retry-After"),
  maxWait: seconds.default(600).describe("Seconds for which GET /batch?wait= holds a request at most"),
  maxEnvs: z.int().min(1).default(100_000).describe("Environments of a run; further ones are answered with 503"),
  maxKeys: z.int().min(1).default(65_536).describe("Idempotency-Keys that are known; the oldest are forgotten"),
  maxSources: z.int().min(1).default(1000).describe("Sources of POST /log; further ones are answered with 503"),
  maxJournal: bytes.default(2e9).describe("Bytes of logged metrics kept; beyond them POST /log is answered with 507"),
  maxConnections: z.int().min(1).default(20_000).describe("Open connections; further ones are closed at once"),
  headersTimeout: seconds.default(30).describe("Seconds for a request's headers; then it is answered with 408"),
  bodyTimeout: seconds.default(300).describe("Seconds for a request's body; then it is answered with 408"),
  stallTimeout: seconds
    .default(120)
    .describe("Seconds for which a client may take nothing of its answer; then the connection is closed"),
})
export type ServerLimits = z.infer<typeof serverLimits>
