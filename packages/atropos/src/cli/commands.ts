import type { Command, RawCommand } from "./command.ts"
import { environmentSummaries } from "./environment/summaries.ts"

interface CommandEntry {
  summary: string
  /** Commands are loaded on demand: `--help` of one must not pay for the others. */
  load: () => Promise<Command | RawCommand>
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  "run-api": {
    summary: "Start the trajectory server",
    load: async () => (await import("./run-api.ts")).runApi,
  },
  serve: {
    summary: environmentSummaries.serve,
    load: async () => (await import("./environment/environment-commands.ts")).environmentCommand("serve"),
  },
  process: {
    summary: environmentSummaries.process,
    load: async () => (await import("./environment/environment-commands.ts")).environmentCommand("process"),
  },
  evaluate: {
    summary: environmentSummaries.evaluate,
    load: async () => (await import("./environment/environment-commands.ts")).environmentCommand("evaluate"),
  },
  init: {
    summary: "Write a new environment with a passing test",
    load: async () => (await import("./init.ts")).initCommand,
  },
  check: {
    summary: environmentSummaries.check,
    load: async () => (await import("./environment/check-command.ts")).checkCommand,
  },
  stub: {
    summary: "Serve a fake model with the routes of real inference servers",
    load: async () => (await import("./stub.ts")).command,
  },
  policy: {
    summary: "Serve the embedded policy, a tiny transformer that a trainer can update",
    load: async () => (await import("./policy.ts")).loadPolicyCommand(),
  },
  grpo: {
    summary: "Train the embedded policy on scored groups",
    load: async () => (await import("./grpo.ts")).loadGrpoCommand(),
  },
  quickstart: {
    summary: "Run the whole loop on this machine until a tiny model has learned to reverse digits",
    load: async () => (await import("./quickstart.ts")).quickstart,
  },
}
