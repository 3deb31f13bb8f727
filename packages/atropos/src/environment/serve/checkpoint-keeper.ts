import { resolve } from "node:path"

import type { Logger } from "../../runtime/logger.ts"
import type { Environment } from "../environment.ts"
import { inOwnCode } from "../own-code.ts"
import { checkpointFile, readCheckpoint, writeCheckpoint } from "./checkpoints.ts"
import type { ItemSource } from "./item-source.ts"
import type { Registration } from "./registration.ts"

type Place = Pick<Registration, "checkpointDir" | "name">

export interface CheckpointKeeperOptions<Item> {
  environment: Pick<Environment<Item>, "saveCheckpoint" | "loadCheckpoint">
  items: ItemSource<Item>
  /** What checkpoint directories are relative to. */
  workingDirectory: string
  logger: Logger
}

/** Saves an environment's state with the items that are under way, and takes it up again. */
export class CheckpointKeeper<Item> {
  readonly #options: CheckpointKeeperOptions<Item>

  constructor(options: CheckpointKeeperOptions<Item>) {
    this.#options = options
  }

  /** Takes up the newest checkpoint up to `step`; at step 0 a run begins. */
  async load({ checkpointDir, name }: Place, step: number): Promise<void> {
    if (step <= 0) return
    const { environment, items, logger } = this.#options
    if (checkpointDir === "") {
      logger.info(`the run is at step ${step}, but the trainer names no folder for checkpoints: items begin anew`)
      return
    }
    const found = await readCheckpoint(this.#root(checkpointDir), name, step)
    if (found === undefined) {
      logger.info(`no checkpoint up to step ${step} in ${checkpointDir}: items begin anew`)
      return
    }
    await inOwnCode("loadCheckpoint", () => environment.loadCheckpoint(found.state))
    // Items are what a checkpoint of the same environment wrote.
    items.addBacklog(found.pending as Item[])
    logger.info(`resumed from ${found.file}; items taken after it are done again`, { unfinished: found.pending.length })
  }

  /** A checkpoint that can not be written is said, and costs nothing else. */
  async save({ checkpointDir, name }: Place, step: number): Promise<void> {
    if (checkpointDir === "") return
    const { environment, items, logger } = this.#options
    const file = checkpointFile(this.#root(checkpointDir), name, step)
    try {
      await writeCheckpoint(file, environment.saveCheckpoint(), items.pending())
      logger.debug(`wrote ${file}`)
    } catch (error) {
      logger.error(`could not write the checkpoint ${file}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  #root(checkpointDir: string): string {
    return resolve(this.#options.workingDirectory, checkpointDir)
  }
}
