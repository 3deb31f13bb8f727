import { extname } from "node:path"

import { counted } from "../../runtime/counted.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Environment } from "../environment.ts"
import { GroupsFile } from "../groups/groups-file.ts"
import { toWireGroup } from "../groups/to-wire.ts"
import { inOwnCode } from "../own-code.ts"
import type { Random } from "../random.ts"
import { collectItem, type CollectedItem } from "../rollouts/collect-item.ts"
import { describeFailure } from "../rollouts/rollout-failure.ts"
import type { OpenSession } from "../rollouts/run-rollout.ts"
import { ItemSource, type TakenItem } from "../serve/item-source.ts"
import { emitTo, type ItemOutcome, type RunListener } from "../serve/run-listener.ts"
import { RunCounter, type RunEnd, type RunSummary } from "../serve/summary.ts"
import { writeGroupsPage } from "./groups-page.ts"

export interface ProcessOptions<Item, Config extends EnvironmentConfig> {
  environment: Environment<Item, Config>
  name: string
  config: Config
  /** Where the groups go; its page has the same stem. */
  path: string
  openSession: OpenSession
  /** Items at the same time. */
  concurrency: number
  random: Random
  logger: Logger
  signal: AbortSignal
  listeners?: readonly RunListener[]
}

export interface ProcessResult {
  summary: RunSummary
  /** Absent when there is no group to be in them. */
  files: { groupsFile: string; page: string } | undefined
}

/** Items without a single group after which there is no hope for the rest. */
const hopeless = 20

/**
 * Makes `total_steps` items' groups without a trajectory server, into a JSONL file and a page. An item that fails or
 * gives nothing is reported, and another is taken in its place. Groups stand in the order of their items. An abort
 * of the signal keeps the groups that are whole; an item that it cuts short is no failure and counts as unfinished.
 */
export async function processItems<Item, Config extends EnvironmentConfig>(
  options: ProcessOptions<Item, Config>,
): Promise<ProcessResult> {
  const { environment, config, logger, signal, concurrency, random, openSession, name } = options
  const counter = new RunCounter()
  const emit = emitTo([counter, ...(options.listeners ?? [])], logger)
  let file: GroupsFile | undefined
  const items = new ItemSource(environment)
  const wanted = config.totalSteps
  let made = 0
  let barren = 0
  let inFlight = 0

  const collect = async (taken: TakenItem<Item>): Promise<CollectedItem<Item>> =>
    collectItem({
      environment,
      item: taken.item,
      config,
      // Files are not bound to a trainer that wants logprobs: fine-tuning takes them as they are.
      limits: { ...config, allowInexactTokens: true, maxTokenLen: -1 },
      random: random.fork(`item-${taken.number}`),
      signal,
      logger,
      step: made,
      openSession,
      onRolloutEnd: (rollout) => emit("rolloutEnd", rollout),
    })

  /** Writes what an item gave; false when it gave nothing. */
  const keep = async ({ groups, dropped, backlog }: CollectedItem<Item>): Promise<boolean> => {
    items.addBacklog(backlog)
    for (const drop of dropped) emit("groupDrop", drop)
    for (const group of groups) {
      await file?.write(toWireGroup(group, { ...config, tokenizer: environment.tokenizer }))
      emit("groupSent", group)
    }
    return groups.length > 0
  }

  let last: Promise<unknown> = Promise.resolve()
  const work = async (): Promise<void> => {
    while (!signal.aborted && barren < hopeless && made + inFlight < wanted) {
      inFlight += 1
      const taken = await items.take().catch((error: unknown) => {
        inFlight -= 1
        throw error
      })
      if (taken === undefined) {
        inFlight -= 1
        return
      }
      const began = performance.now()
      // Items are begun in order, so each one waits for the one before it to be written.
      const before = last
      const written = Promise.withResolvers<void>()
      last = written.promise
      const collected = await collect(taken)
      await before
      const { groups, productive, failures } = collected
      const end = (outcome: ItemOutcome): void =>
        emit("itemEnd", { outcome, seconds: (performance.now() - began) / 1000, productive, failures })
      if (groups.length === 0 && failures.some(({ boundary }) => boundary === "cancelled")) {
        written.resolve()
        inFlight -= 1
        items.giveBack(taken)
        end("returned")
        return
      }
      const kept = await keep(collected).finally(written.resolve)
      inFlight -= 1
      const failure = failures.find(({ boundary }) => boundary !== "cancelled")
      if (failure !== undefined) logger.warn(`item ${taken.number}: a rollout failed at ${describeFailure(failure)}`)
      if (kept) made += 1
      barren = kept ? 0 : barren + 1
      items.settle(taken)
      end(kept ? "sent" : "dropped")
    }
  }

  const stem = options.path.slice(0, options.path.length - extname(options.path).length)
  try {
    await inOwnCode("setup", () => environment.setup())
    file = await GroupsFile.create(`${stem}.jsonl`, [".jsonl", ".html"])
    // Workers stop when enough is in flight, and begin again while some of that gave nothing.
    while (!signal.aborted && barren < hopeless && made < wanted && !items.exhausted) {
      await Promise.all(Array.from({ length: Math.max(1, concurrency) }, work))
    }
  } finally {
    await file?.close()
    await environment.cleanup()
  }
  let files: ProcessResult["files"]
  if (!file.empty) {
    files = { groupsFile: file.path, page: file.path.replace(/\.jsonl$/, ".html") }
    await writeGroupsPage({ from: files.groupsFile, to: files.page, title: `${name}: ${counted(made, "item")}` })
  }
  const end: RunEnd = signal.aborted
    ? "stopped"
    : made >= wanted
      ? "steps"
      : barren >= hopeless
        ? "failed"
        : "exhausted"
  const summary = counter.summary(end, { step: made, taken: items.count, unfinished: items.pending().length })
  return { summary, files }
}
