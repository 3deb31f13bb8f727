import { relative, resolve } from "node:path"

import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { processItems } from "../../environment/process/process.ts"
import { createLogListener } from "../../environment/serve/log-listener.ts"
import type { RunListener } from "../../environment/serve/run-listener.ts"
import { RunMetrics } from "../../environment/serve/run-metrics.ts"
import type { CommandContext } from "../command.ts"
import { openRun } from "./open-run.ts"
import { openTrackers } from "./open-trackers.ts"
import { createProgress } from "./progress.ts"
import type { Configuration } from "./resolve-configuration.ts"
import { withClosing } from "./with-closing.ts"

/** `atropos process`: groups into a file and a page, without a trajectory server. */
export function runProcess(
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
): Promise<number> {
  return withClosing((defer) => processWith(defer, environmentClass, configuration, context))
}

async function processWith(
  defer: (close: () => unknown) => void,
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
): Promise<number> {
  const progress = createProgress(context, !configuration.run.quiet && !configuration.run.json)
  const shown = { ...context, stderr: (text: string) => progress.around(() => context.stderr(text)) }
  const run = await openRun(environmentClass, configuration, shown)
  defer(() => run.close())
  const { config, environment, logger, policy, name } = run
  const tracker = openTrackers(configuration.run, { ...context, logger })
  defer(() => tracker.close())
  defer(() => progress.end())
  const metrics = new RunMetrics({
    environment,
    config,
    tokenizer: policy.tokenizer,
    prefix: "",
    serverMetrics: () => policy.server.metrics(),
  })
  let groups = 0
  let rollouts = 0
  const perGroup: RunListener = {
    groupSent: () => progress.around(() => tracker.log(metrics.entry(`env:${name}`, groups++))),
    rolloutEnd: () => {
      rollouts += 1
      progress.update(groups, config.totalSteps, `groups  ${rollouts} rollouts`)
    },
  }
  const { summary, groupsFile, page } = await processItems({
    ...run,
    path: resolve(context.workingDirectory, config.dataPathToSaveGroups ?? `data/${name}.jsonl`),
    concurrency: config.maxNumWorkers === -1 ? config.maxNumWorkersPerNode * policy.serverCount : config.maxNumWorkers,
    signal: context.signal,
    listeners: [createLogListener(logger), metrics, perGroup],
  })
  progress.end()
  const shownPath = (path: string): string => relative(context.workingDirectory, path)
  if (configuration.run.json) {
    context.stdout(`${JSON.stringify({ event: "summary", ...summary, groupsFile, page })}\n`)
  } else {
    const dropped = Object.entries(summary.groupsDropped).map(([reason, count]) => `, ${count} dropped (${reason})`)
    context.stdout(`${summary.groupsSent} groups of ${summary.items.sent} items${dropped.join("")}\n`)
    context.stdout(`groups  ${shownPath(groupsFile)}\npage    ${shownPath(page)}\n`)
  }
  if (summary.end === "stopped") return 130
  return summary.end === "failed" ? 1 : 0
}
