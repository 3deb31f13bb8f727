import type { Command } from "./command.ts"

interface CommandEntry {
  summary: string
  /** Commands are loaded on demand: `--help` of one must not pay for the others. */
  load: () => Promise<Command>
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  "run-api": {
    summary: "Start the trajectory server",
    load: async () => (await import("./run-api.ts")).runApi,
  },
  stub: {
    summary: "Serve a fake model with the routes of real inference servers",
    load: async () => (await import("./stub.ts")).command,
  },
}
