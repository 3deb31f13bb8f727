import { randomBytes } from "node:crypto"

import { silentLogger } from "../../../packages/atropos/src/runtime/logger.ts"
import { LiveRun } from "../../../packages/atropos/src/server/live/live-run.ts"
import { openSqliteStore } from "../../../packages/atropos/src/server/stores/sqlite/sqlite-store.ts"

/** Groups a commit: about what a busy server puts into one. */
const groupsAtOnce = 100

/**
 * Lays a run with so many queued groups of so many stored bytes each, by the same ways as the server but without HTTP
 * and without encoding: what the bytes are matters to nobody until they are read.
 */
export async function fillRun(directory: string, groups: number, bytesEach: number): Promise<void> {
  const live = await LiveRun.open({ store: await openSqliteStore({ directory }), logger: silentLogger, now: Date.now })
  await live.submit({
    type: "register",
    registration: {
      wandbGroup: "g",
      wandbProject: "p",
      batchSize: "32",
      maxTokenLength: "64",
      checkpointDir: "",
      saveCheckpointInterval: "1",
      startingStep: "0",
      numSteps: "1000000",
    },
  })
  await live.submit({ type: "start" })
  const environment = { desiredName: "e", maxTokenLength: "64", weight: 1, groupSize: "4", minBatchAllocation: null }
  for (let id = 0; id < 4; id++) {
    await live.submit({ type: "register-environment", time: live.now, registration: environment })
  }
  for (let done = 0; done < groups; done += groupsAtOnce) {
    const count = Math.min(groupsAtOnce, groups - done)
    const arriving = Array.from({ length: count }, (_, index) => {
      return { id: live.newGroupId(), environment: (done + index) % 4, size: 4, bytes: bytesEach }
    })
    const payloads = arriving.map(({ id }) => {
      return { groupId: id, segment: randomBytes(bytesEach), crc32: 0, jsonBytes: bytesEach }
    })
    const push = { type: "push", time: live.now, step: 0, digest: String(done), key: null, groups: arriving } as const
    await live.submit(push, { payloads })
    live.noteAnswered(push.digest)
  }
  await live.close()
}
