import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { ScoredGroup } from "../../protocol/messages.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { createLineLogger } from "../../runtime/logger.ts"
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts"
import { createTrajectoryServer, type TrajectoryServer } from "../trajectory-server.ts"
import { groupIdOf, noiseGroup, smallRegistration } from "./small-run.ts"

let directory: string
let server: TrajectoryServer
let client: TrajectoryClient
let log = ""

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "atropos-damage-"))
  log = ""
  await start()
})
afterEach(async () => {
  await stop()
  rmSync(directory, { recursive: true })
})

async function start(): Promise<void> {
  const logger = createLineLogger({ level: "error", json: false, write: (line) => (log += line) })
  server = createTrajectoryServer({ store: await openSqliteStore({ directory, cacheBytes: 0 }), logger })
  client = new TrajectoryClient({ url: await server.listen({ host: "127.0.0.1", port: 0 }) })
}

async function stop(): Promise<void> {
  await client.close({ flushTimeoutMs: 0 })
  await server.close()
}

/** Ids in the store count from 0 in the order of arrival. */
async function damage(statement: string, ids: readonly number[]): Promise<void> {
  await stop()
  const database = new DatabaseSync(join(directory, "run.sqlite"))
  for (const id of ids) expect(database.prepare(statement).run(id).changes).toBe(1)
  database.close()
  await start()
}

const overwrite = "UPDATE payloads SET segment = zeroblob(length(segment)) WHERE id = ?"
const remove = "DELETE FROM payloads WHERE id = ?"

const groupOf = (id: number, tokensEach = 3): ScoredGroup => noiseGroup(id, tokensEach)

const idsOf = (groups: readonly Pick<ScoredGroup, "tokens">[] | null): number[] | undefined => groups?.map(groupIdOf)

describe("a stored group that can not be read", () => {
  it.each([
    ["overwritten", overwrite],
    ["gone", remove],
  ])("because it is %s is set aside, and the trainer gets the others", async (_, statement) => {
    await client.register(smallRegistration)
    for (let id = 0; id < 5; id++) await client.pushGroup(groupOf(id))
    await damage(statement, [1, 2])
    expect(idsOf((await client.batch()).batch)).toEqual([0, 3])
    expect(await client.status()).toMatchObject({ current_step: 1, queue_size: 1, damaged_groups: 2 })
    expect(log).toMatch(/can not be read and was set aside.*copy the run.*group=1/)
    expect((await client.status()).reason).toMatch(/2 groups can not be read and are set aside/)
  })

  it("stays aside after a restart, with its bytes in the file", async () => {
    await client.register(smallRegistration)
    for (let id = 0; id < 4; id++) await client.pushGroup(groupOf(id))
    await damage(overwrite, [0])
    expect(idsOf((await client.batch()).batch)).toEqual([1, 2])
    await stop()
    await start()
    await client.pushGroup(groupOf(4))
    expect(await client.status()).toMatchObject({ current_step: 1, queue_size: 2, damaged_groups: 1 })
    expect(idsOf((await client.batch()).batch)).toEqual([3, 4])
    await stop()
    const database = new DatabaseSync(join(directory, "run.sqlite"), { readOnly: true })
    expect(database.prepare("SELECT released FROM groups JOIN payloads USING (id) WHERE id = 0").get()).toEqual({
      released: 0,
    })
    database.close()
    await start()
  })

  it("behind what has been sent already cuts the answer, and the next poll gets a batch without it", async () => {
    await client.register(smallRegistration)
    await client.pushGroup(groupOf(0, 200_000))
    for (let id = 1; id < 4; id++) await client.pushGroup(groupOf(id, 2000))
    await damage(overwrite, [1])
    // The client polls again by itself.
    expect(idsOf((await client.batch()).batch)).toEqual([0, 2])
    expect(log).toMatch(/the answer with a batch was cut/)
  })
})
