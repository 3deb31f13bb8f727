import type { ScoredGroup as WireGroup } from "../../protocol/messages.ts"
import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { isAtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import { untilItWorks } from "./retry.ts"

export type SendResult = { sent: true } | { sent: false; detail: string }

export interface SendOptions {
  groups: readonly WireGroup[]
  client: TrajectoryClient
  signal: AbortSignal
  logger: Logger
}

/** Sends the groups of one item in one push, until the server has them or refuses them for good. */
export async function sendGroups(options: SendOptions): Promise<SendResult> {
  const { groups, client, signal, logger } = options
  const [only] = groups
  try {
    await untilItWorks(
      async () => {
        if (groups.length === 1 && only !== undefined) await client.pushGroup(only, { signal })
        else await client.pushGroups(groups, { signal })
      },
      { signal, logger, what: "sending a group" },
    )
    return { sent: true }
  } catch (error) {
    if (!isAtroposError(error, "server-refused")) throw error
    return { sent: false, detail: error.message }
  }
}
