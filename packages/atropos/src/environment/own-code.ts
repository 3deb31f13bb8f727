import { AtroposError, isAtroposError } from "../runtime/errors.ts"

/** Calls a method of an environment without which nothing goes on; what it throws says where it came from. */
export async function inOwnCode<Value>(method: string, call: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    if (isAtroposError(error)) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new AtroposError("environment-failed", `the environment's ${method} threw: ${message}`, { cause: error })
  }
}
