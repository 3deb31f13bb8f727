/** A trajectory server on a run in SQLite, to be killed. Says on stdout `ready` when it answers. */
import { writeSync } from "node:fs"
import { createLineLogger } from "../../runtime/logger.ts"
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts"
import { createTrajectoryServer } from "../trajectory-server.ts"

const [directory = "", port = "0"] = process.argv.slice(2)
const logger = createLineLogger({ level: "warn", json: false, write: (line) => process.stderr.write(line) })
const store = await openSqliteStore({ directory })
const server = createTrajectoryServer({ store, folder: directory, logger, ackTimeout: 3 })
await server.listen({ host: "127.0.0.1", port: Number(port) })
writeSync(1, "ready\n")
