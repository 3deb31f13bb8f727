import { z } from "zod"

import { createLineLogger, logLevels } from "../runtime/logger.ts"
import { createMemoryStore } from "../server/stores/memory-store.ts"
import { createTrajectoryServer } from "../server/trajectory-server.ts"
import { type Command, defineCommand } from "./command.ts"

const options = z.object({
  host: z.string().default("127.0.0.1").describe("Address to listen on"),
  port: z.int().min(0).max(65_535).default(8000).describe("Port to listen on; 0 takes a free one"),
  store: z.enum(["memory"]).default("memory").describe("Where the run is kept"),
  logLevel: z.enum(logLevels).default("info").describe("Least level of log lines"),
  json: z.boolean().default(false).describe("Print events as JSON lines: the first names the address and the pid"),
})

export const runApi: Command<typeof options> = defineCommand({
  name: "run-api",
  summary: "Start the trajectory server",
  options,
  async run(settings, _positionals, context) {
    const logger = createLineLogger({ level: settings.logLevel, json: settings.json, write: context.stderr })
    const server = createTrajectoryServer({ store: createMemoryStore(), logger })
    const address = await server.listen(settings)
    context.stdout(
      settings.json
        ? `${JSON.stringify({ event: "listening", address, pid: process.pid })}\n`
        : `trajectory server: ${address}\n`,
    )
    if (!context.signal.aborted) {
      await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve(), { once: true }))
    }
    await server.close()
    return 0
  },
})
