import { resolve } from "node:path"

import type { EnvironmentConfig } from "../../environment/config/environment-config.ts"
import { GroupsFile } from "../../environment/groups/groups-file.ts"
import { toWireGroup } from "../../environment/groups/to-wire.ts"
import { createLogListener } from "../../environment/serve/log-listener.ts"
import type { RunListener } from "../../environment/serve/run-listener.ts"
import { serve } from "../../environment/serve/serve.ts"
import { describeSummary, describeWork, RunCounter } from "../../environment/serve/summary.ts"
import { StepLogger } from "../../environment/serve/step-logger.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { counted } from "../../runtime/counted.ts"
import type { CommandRun } from "./command-run.ts"
import { openTrackers } from "./open-trackers.ts"
import type { Progress } from "./progress.ts"
import { allowsInexact, requireExact } from "./require-exact.ts"

/** `atropos serve`: runs an environment against a trajectory server until its work is done. */
export async function runServe({ run, configuration, context, progress, defer }: CommandRun): Promise<number> {
  const { logger, metrics, policy } = run
  const allowed = allowsInexact(run.config, context.environment)
  const config = { ...run.config, allowInexactTokens: allowed }
  if (!policy.exact) await requireExact(configuration.servers, { allowed, logger, signal: context.signal })
  const client = new TrajectoryClient({ url: config.rolloutServerUrl, totalTimeoutMs: 5000, logger })
  defer(() => client.close())
  const tracker = openTrackers(configuration.run, { ...context, client, logger })
  defer(() => tracker.close())
  const steps = new StepLogger({ metrics, tracker, minItemsSent: config.minItemsSentBeforeLogging })
  const { dataPathToSaveGroups: path } = config
  const groups = path === null ? undefined : await GroupsFile.create(resolve(context.workingDirectory, path))
  defer(async () => groups?.close())
  const saving: RunListener = {
    groupSent: (group) =>
      void groups?.write(toWireGroup(group, { ...config, tokenizer: policy.tokenizer })).catch((error: unknown) => {
        logger.error(`a group could not be written to ${groups.path}: ${String(error)}`)
      }),
  }
  const counter = new RunCounter()
  const summary = await serve({
    ...run,
    config,
    client,
    serverCount: policy.serverCount,
    evaluationConcurrency: policy.evaluationConcurrency,
    signal: context.signal,
    workingDirectory: context.workingDirectory,
    listeners: [
      run.limits,
      createLogListener(logger),
      metrics,
      steps,
      saving,
      counter,
      showSteps(progress, counter, config),
    ],
  })
  progress.end()
  steps.flush()
  if (configuration.run.json) context.stdout(`${JSON.stringify({ event: "summary", ...summary })}\n`)
  else context.stdout(`${describeSummary(summary)}\n`)
  return 0
}

/** Steps so far, what came of the items, and what is under way. */
function showSteps(
  progress: Progress,
  counter: RunCounter,
  config: Pick<EnvironmentConfig, "totalSteps">,
): RunListener {
  let totalSteps = config.totalSteps
  return {
    registered: ({ numSteps }) => {
      if (totalSteps === -1) totalSteps = numSteps
    },
    status: ({ status, inFlight }) =>
      progress.update(
        status.current_step,
        totalSteps,
        `steps  ${describeWork(counter)}; ${counted(inFlight, "group")} in flight, ${status.queue_size} queued`,
      ),
  }
}
