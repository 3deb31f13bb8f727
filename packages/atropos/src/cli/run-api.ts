import { relative } from "node:path"

import { z } from "zod"

import { AtroposError } from "../runtime/errors.ts"
import { createLineLogger, type Logger, logLevels } from "../runtime/logger.ts"
import { isLoopback } from "../server/http/access.ts"
import { serverLimits } from "../server/limits.ts"
import { openRunFolder, type RunFolder } from "../server/run-folder.ts"
import { createMemoryStore } from "../server/stores/memory-store.ts"
import { openSqliteStore } from "../server/stores/sqlite/sqlite-store.ts"
import { defaultRetainBytes, type Store } from "../server/stores/store.ts"
import {
  createTrajectoryServer,
  defaultAckTimeout,
  defaultEnvTimeout,
  type RunSummary,
} from "../server/trajectory-server.ts"
import { type Command, type CommandContext, defineCommand } from "./command.ts"
import { untilAborted } from "./until-aborted.ts"

export const runApiOptions = z.object({
  host: z
    .string()
    .default("127.0.0.1")
    .describe("Address to listen on; any but this machine's own wants --token or --insecure"),
  port: z.int().min(0).max(65_535).default(8000).describe("Port to listen on; 0 takes a free one"),
  store: z.enum(["sqlite", "memory"]).default("sqlite").describe("Where the run is kept; memory forgets it at the end"),
  dataDir: z.string().optional().describe("Folder of a run to resume, or to begin; otherwise a new one under runs/"),
  token: z.string().min(1).optional().describe("What callers must know; ATROPOS_TOKEN does the same"),
  insecure: z.boolean().default(false).describe("Let anybody who reaches the server do anything"),
  cors: z.string().optional().describe("Web origin whose pages may call, such as https://example.org"),
  envTimeout: z
    .number()
    .min(0)
    .default(defaultEnvTimeout)
    .describe("Seconds after which a silent environment counts as disconnected"),
  ackTimeout: z
    .number()
    .min(0)
    .default(defaultAckTimeout)
    .describe("Seconds after which a batch taken with ack=manual goes back unless acknowledged"),
  retain: z
    .number()
    .min(0)
    .optional()
    .describe(`Bytes of consumed groups to keep, the oldest go first (${defaultRetainBytes}, in memory 256e6)`),
  logLevel: z.enum(logLevels).default("info").describe("Least level of log lines"),
  json: z.boolean().default(false).describe("Print JSON lines: the first event names the address and the pid"),
  ...serverLimits.shape,
})

type Settings = z.output<typeof runApiOptions>

export const runApi: Command<typeof runApiOptions> = defineCommand({
  name: "run-api",
  summary: "Start the trajectory server",
  options: runApiOptions,
  async run(settings, _positionals, context) {
    const logger = createLineLogger({ level: settings.logLevel, json: settings.json, write: context.stderr })
    const token = settings.token ?? context.environment["ATROPOS_TOKEN"]
    requireProtection(settings, token)
    const folder = settings.store === "memory" ? null : await openFolder(settings, context)
    const server = createTrajectoryServer({
      store: await openStore(settings, folder),
      logger,
      limits: serverLimits.parse(settings),
      insecure: settings.insecure,
      envTimeout: settings.envTimeout,
      ackTimeout: settings.ackTimeout,
      ...(token === undefined ? {} : { token }),
      ...(settings.cors === undefined ? {} : { cors: settings.cors }),
      ...(folder === null ? {} : { folder: folder.path }),
    })
    try {
      const address = await server.listen(settings)
      announce({ address, folder, run: server.run }, settings, context, logger)
      await untilAborted(context.signal)
      logger.info("closing: calls under way may end, then everything is on disk")
    } finally {
      await server.close()
    }
    return 0
  },
})

function requireProtection({ host, insecure }: Settings, token: string | undefined): void {
  if (isLoopback(host) || insecure || token !== undefined) return
  throw new AtroposError(
    "bad-option",
    `--host ${host} opens the server to other machines, where anybody could take its data or reset it: set --token (or ATROPOS_TOKEN), or allow that with --insecure`,
  )
}

function openFolder({ dataDir }: Settings, { workingDirectory }: CommandContext): Promise<RunFolder> {
  return openRunFolder({ dataDir, workingDirectory, now: new Date() })
}

async function openStore({ retain }: Settings, folder: RunFolder | null): Promise<Store> {
  if (folder === null) return createMemoryStore({ retainBytes: retain ?? 256e6 })
  return openSqliteStore({ directory: folder.path, retainBytes: retain ?? defaultRetainBytes })
}

interface Started {
  address: string
  folder: RunFolder | null
  run: RunSummary | null
}

function announce(
  { address, folder, run }: Started,
  settings: Settings,
  context: CommandContext,
  logger: Logger,
): void {
  const found = run === null || folder === null || folder.isNew ? null : { ...run, step: run.step.toString() }
  if (settings.json) {
    const event = { event: "listening", address, pid: process.pid, folder: folder?.path ?? null, found }
    context.stdout(`${JSON.stringify(event)}\n`)
    return
  }
  context.stdout(`trajectory server: ${address}\n`)
  if (folder === null) {
    context.stdout("the run is kept in memory and ends with this process\n")
    return
  }
  const path = relative(context.workingDirectory, folder.path) || "."
  if (found === null) context.stdout(`new run in ${path}; resume it with: atropos run-api --data-dir ${path}\n`)
  else {
    const trainer = found.registered ? `at step ${found.step}` : "no trainer yet"
    context.stdout(
      `resumed ${path}: ${trainer}, ${found.queuedGroups} groups queued, ${found.environments} environments\n`,
    )
  }
  if (settings.insecure) logger.warn("anybody who reaches this server can take its data and reset it")
}
