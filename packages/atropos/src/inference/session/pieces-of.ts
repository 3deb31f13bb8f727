/**
 * The pieces of something that runs, as they come, and what it came to in the end. A failure is thrown after the pieces
 * that came before it. Who stops early has to end what runs.
 */
export async function* piecesOf<Piece, Result>(
  run: (push: (piece: Piece) => void) => Promise<Result>,
): AsyncGenerator<Piece, Result, undefined> {
  let waiting: Piece[] = []
  let ended = false
  let wake = Promise.withResolvers<void>()
  const running = run((piece) => {
    waiting.push(piece)
    wake.resolve()
  })
  const end = (): void => {
    ended = true
    wake.resolve()
  }
  // Thrown below; where nobody goes on, it has nowhere to go.
  running.then(end, end)
  for (;;) {
    const pieces = waiting
    waiting = []
    yield* pieces
    if (waiting.length > 0) continue
    if (ended) return await running
    await wake.promise
    wake = Promise.withResolvers()
  }
}

/**
 * A stream that begins when it is first asked. Stopping it aborts what it waits for at once, where a generator's own
 * `return` would wait as well.
 */
export function untilStopped<Piece>(
  begin: (stopped: AbortSignal) => AsyncGenerator<Piece, void, undefined>,
): AsyncIterableIterator<Piece> {
  const stopping = new AbortController()
  const pieces = (async function* (): AsyncGenerator<Piece, void, undefined> {
    try {
      yield* begin(stopping.signal)
    } catch (error) {
      if (!stopping.signal.aborted) throw error
    }
  })()
  const stopped: IteratorResult<Piece> = { done: true, value: undefined }
  return {
    next: () => pieces.next(),
    async return() {
      stopping.abort()
      await pieces.return()
      return stopped
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
