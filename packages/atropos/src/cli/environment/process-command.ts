import { relative, resolve } from "node:path"

import { processItems } from "../../environment/process/process.ts"
import { createLogListener } from "../../environment/serve/log-listener.ts"
import type { RunListener } from "../../environment/serve/run-listener.ts"
import { counted } from "../../runtime/counted.ts"
import type { CommandRun } from "./command-run.ts"
import { openTrackers } from "./open-trackers.ts"

/** `atropos process`: groups into a file and a page, without a trajectory server. */
export async function runProcess({ run, configuration, context, progress, defer }: CommandRun): Promise<number> {
  const { config, logger, metrics, policy, name } = run
  const tracker = openTrackers(configuration.run, { ...context, logger })
  defer(() => tracker.close())
  let groups = 0
  let rollouts = 0
  const perGroup: RunListener = {
    groupSent: () => tracker.log(metrics.entry(`env:${name}`, groups++)),
    rolloutEnd: () => {
      rollouts += 1
      progress.update(groups, config.totalSteps, `groups  ${counted(rollouts, "rollout")}`)
    },
  }
  const { summary, files } = await processItems({
    ...run,
    path: resolve(context.workingDirectory, config.dataPathToSaveGroups ?? `data/${name}.jsonl`),
    concurrency: config.maxNumWorkers === -1 ? config.maxNumWorkersPerNode * policy.serverCount : config.maxNumWorkers,
    signal: context.signal,
    listeners: [createLogListener(logger), metrics, perGroup],
  })
  progress.end()
  const shownPath = (path: string): string => relative(context.workingDirectory, path)
  if (configuration.run.json) {
    context.stdout(`${JSON.stringify({ event: "summary", ...summary, ...files })}\n`)
  } else {
    const dropped = Object.entries(summary.groupsDropped).map(([reason, count]) => `, ${count} dropped (${reason})`)
    const { sent, unfinished } = summary.items
    const stopped = summary.end === "stopped"
    context.stdout(
      `${stopped ? "stopped: " : ""}${counted(summary.groupsSent, "group")} of ${counted(sent, "item")}` +
        `${dropped.join("")}${stopped ? `, ${unfinished} unfinished` : ""}\n`,
    )
    if (files === undefined) context.stdout("no group, so no file\n")
    else context.stdout(`groups  ${shownPath(files.groupsFile)}\npage    ${shownPath(files.page)}\n`)
  }
  if (summary.end === "stopped") return 130
  return summary.end === "failed" ? 1 : 0
}
