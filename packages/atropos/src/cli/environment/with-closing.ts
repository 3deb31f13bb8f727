/** Runs work that opens things; what it defers is closed afterwards, the last first, also when the work throws. */
export async function withClosing<Value>(
  work: (defer: (close: () => unknown) => void) => Promise<Value>,
): Promise<Value> {
  const closers: (() => unknown)[] = []
  try {
    return await work((close) => void closers.unshift(close))
  } finally {
    for (const close of closers) await close()
  }
}
