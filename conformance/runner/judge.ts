import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import type { Report } from "./suite.ts"

/** Reports the first difference that playing a case shows; a case on which the runner breaks has failed like others. */
export async function judge(
  report: Report,
  id: string,
  play: () => Promise<string | undefined> | string | undefined,
): Promise<void> {
  let difference: string | undefined
  try {
    difference = await play()
  } catch (error) {
    difference = isAtroposError(error) ? `${error.code}: ${error.message}` : `broke on it: ${String(error)}`
  }
  report(id, difference === undefined ? { verdict: "passed" } : { verdict: "failed", difference })
}
