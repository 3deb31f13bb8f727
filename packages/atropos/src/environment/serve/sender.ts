import type { ScoredGroup as WireGroup } from "../../protocol/messages.ts"
import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { isAtroposError } from "../../runtime/errors.ts"

export type SendResult = { sent: true } | { sent: false; detail: string }

export interface SendOptions {
  groups: readonly WireGroup[]
  client: TrajectoryClient
  signal: AbortSignal
}

/** Sends the groups of one item in one push; the client tries until the server has them or refuses them for good. */
export async function sendGroups({ groups, client, signal }: SendOptions): Promise<SendResult> {
  const [only] = groups
  try {
    if (groups.length === 1 && only !== undefined) await client.pushGroup(only, { signal })
    else await client.pushGroups(groups, { signal })
    return { sent: true }
  } catch (error) {
    if (!isAtroposError(error, "server-refused")) throw error
    return { sent: false, detail: error.message }
  }
}
