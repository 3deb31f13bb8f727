import { resolve } from "node:path"

import type { EnvironmentConfig } from "../../environment/config/environment-config.ts"
import { GroupsFile } from "../../environment/groups/groups-file.ts"
import { toWireGroup } from "../../environment/groups/to-wire.ts"
import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { createLogListener } from "../../environment/serve/log-listener.ts"
import type { RunListener } from "../../environment/serve/run-listener.ts"
import { RunMetrics } from "../../environment/serve/run-metrics.ts"
import { serve } from "../../environment/serve/serve.ts"
import { describeSummary, describeWork, RunCounter } from "../../environment/serve/summary.ts"
import { StepLogger } from "../../environment/serve/step-logger.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import type { CommandContext } from "../command.ts"
import { openRun } from "./open-run.ts"
import { openTrackers } from "./open-trackers.ts"
import { createProgress, type Progress } from "./progress.ts"
import { allowsInexact, requireExact } from "./require-exact.ts"
import type { Configuration } from "./resolve-configuration.ts"
import { withClosing } from "./with-closing.ts"

/** `atropos serve`: runs an environment against a trajectory server until its work is done. */
export function runServe(
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
): Promise<number> {
  return withClosing((defer) => serveWith(defer, environmentClass, configuration, context))
}

async function serveWith(
  defer: (close: () => unknown) => void,
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
): Promise<number> {
  const progress = createProgress(context, !configuration.run.quiet && !configuration.run.json)
  const shown: CommandContext = {
    ...context,
    stdout: (text) => progress.around(() => context.stdout(text)),
    stderr: (text) => progress.around(() => context.stderr(text)),
  }
  const run = await openRun(environmentClass, configuration, shown)
  defer(() => run.close())
  const { environment, logger, policy } = run
  const allowed = allowsInexact(run.config, context.environment)
  const config = { ...run.config, allowInexactTokens: allowed }
  if (!policy.exact) await requireExact(configuration.servers, { allowed, logger, signal: context.signal })
  const client = new TrajectoryClient({ url: config.rolloutServerUrl, totalTimeoutMs: 5000, logger })
  defer(() => client.close())
  const tracker = openTrackers(configuration.run, { ...shown, client, logger })
  defer(() => tracker.close())
  const metrics = new RunMetrics({
    environment,
    config,
    tokenizer: policy.tokenizer,
    prefix: "",
    serverMetrics: () => policy.server.metrics(),
  })
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
  defer(() => progress.end())
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
        `steps  ${describeWork(counter)}; ${inFlight} groups in flight, ${status.queue_size} queued`,
      ),
  }
}
