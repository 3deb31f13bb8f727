import { resolve } from "node:path"

import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import { createConsoleTracker } from "../../tracking/console-tracker.ts"
import { createJsonLinesTracker } from "../../tracking/json-lines-tracker.ts"
import { createServerTracker } from "../../tracking/server-tracker.ts"
import { combineTrackers, type Tracker } from "../../tracking/tracker.ts"
import type { RunOptions } from "./run-options.ts"

export interface TrackerContext {
  stdout: (text: string) => void
  workingDirectory: string
  logger: Logger
  /** Absent where there is no trajectory server. */
  client?: TrajectoryClient
}

const names = ["console", "jsonl", "server"] as const

/** The trackers that `--track` names, each perhaps with an argument: `console,jsonl=metrics.jsonl`. */
export function openTrackers(options: Pick<RunOptions, "track" | "json">, context: TrackerContext): Tracker {
  const wanted = options.track
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "" && word !== "none")
  const trackers = wanted.flatMap((word): Tracker[] => {
    const equals = word.indexOf("=")
    const name = equals === -1 ? word : word.slice(0, equals)
    const argument = equals === -1 ? undefined : word.slice(equals + 1)
    switch (name) {
      case "console":
        return [createConsoleTracker({ write: context.stdout, json: options.json })]
      case "jsonl": {
        const path = resolve(context.workingDirectory, argument ?? "metrics.jsonl")
        return [createJsonLinesTracker({ path, logger: context.logger })]
      }
      case "server":
        return context.client === undefined ? [] : [createServerTracker({ ...context, client: context.client })]
      default:
        throw new AtroposError("bad-option", `--track: unknown tracker ${name}; known are none, ${names.join(", ")}`)
    }
  })
  return combineTrackers(trackers)
}
