import type { InferenceServer } from "../../inference/inference-server.ts"
import { isAtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"

/** Asks once, beside everything else, whether an inference server is there, and says what to do when none is. */
export async function sayWhatIsMissing(
  server: Pick<InferenceServer, "health">,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> {
  try {
    await server.health({ signal })
  } catch (error) {
    // A server that answers, though not well, is the pool's to wait for and to tell of.
    if (signal.aborted || !isAtroposError(error, "inference-network")) return
    logger.warn(
      `${error.message}. Rollouts wait for it and go on by themselves when it is there. --openai.base_url names another ` +
        "server; without a model, atropos stub is one, and --testing does without",
    )
  }
}
