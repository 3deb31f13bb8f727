import { resolve } from "node:path"

import { GroupsFile } from "../../environment/groups/groups-file.ts"
import { toWireGroup } from "../../environment/groups/to-wire.ts"
import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { createLogListener } from "../../environment/serve/log-listener.ts"
import type { RunListener } from "../../environment/serve/run-listener.ts"
import { RunMetrics } from "../../environment/serve/run-metrics.ts"
import { serve } from "../../environment/serve/serve.ts"
import { StepLogger } from "../../environment/serve/step-logger.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import type { CommandContext } from "../command.ts"
import { openRun } from "./open-run.ts"
import { openTrackers } from "./open-trackers.ts"
import type { Configuration } from "./resolve-configuration.ts"

/** `atropos serve`: runs an environment against a trajectory server until its work is done. */
export async function runServe(
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
): Promise<number> {
  const run = await openRun(environmentClass, configuration, context)
  const { config, environment, logger, policy } = run
  const client = new TrajectoryClient({ url: config.rolloutServerUrl, totalTimeoutMs: 5000, logger })
  const tracker = openTrackers(configuration.run, { ...context, client, logger })
  const metrics = new RunMetrics({
    environment,
    config,
    tokenizer: policy.tokenizer,
    prefix: "",
    serverMetrics: () => policy.server.metrics(),
  })
  const steps = new StepLogger({ metrics, tracker, minItemsSent: config.minItemsSentBeforeLogging })
  const groups = await openGroupsFile(config.dataPathToSaveGroups, context.workingDirectory)
  const saving: RunListener = {
    groupSent: (group) => void groups?.write(toWireGroup(group, { ...config, tokenizer: policy.tokenizer })),
  }
  try {
    const summary = await serve({
      ...run,
      client,
      serverCount: policy.serverCount,
      evaluationConcurrency: policy.evaluationConcurrency,
      signal: context.signal,
      workingDirectory: context.workingDirectory,
      listeners: [run.limits, createLogListener(logger), metrics, steps, saving],
    })
    steps.flush()
    if (configuration.run.json) context.stdout(`${JSON.stringify({ event: "summary", ...summary })}\n`)
    else logger.info("summary", { ...summary })
    return 0
  } finally {
    await tracker.close()
    await groups?.close()
    await client.close()
    await run.close()
  }
}

async function openGroupsFile(path: string | null, workingDirectory: string): Promise<GroupsFile | undefined> {
  return path === null ? undefined : GroupsFile.create(resolve(workingDirectory, path))
}
