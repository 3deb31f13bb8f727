import type { CompletionDelta, FinishReason, LogprobsMode, Usage } from "../inference-server.ts"

/** What the answers of all routes have in common. */
export interface Choices<Choice extends { finishReason: FinishReason }> {
  choices: Choice[]
  logprobsMode: LogprobsMode
  departures: readonly string[]
  usage: Usage
  promptTokenIds?: number[]
}

export interface FillOptions {
  n: number
  /** Choices that one request asks for at most; asked anew before each, since a server may turn out to ignore `n`. */
  perRequest: () => number
  signal?: AbortSignal | undefined
  onDelta?: ((delta: CompletionDelta) => void) | undefined
}

export interface PieceOptions {
  signal: AbortSignal | undefined
  onDelta: ((delta: CompletionDelta) => void) | undefined
}

/**
 * Brings `n` finished choices together: asks in as few requests as a server allows, all at once, and again for just
 * what is missing, be it that a provider ignored `n` or that answers were aborted, which are no samples. Indices
 * follow the order of asking; usage is what one request for all would say.
 */
export async function fillChoices<Choice extends { finishReason: FinishReason }>(
  options: FillOptions,
  ask: (n: number, piece: PieceOptions) => Promise<Choices<Choice>>,
): Promise<Choices<Choice>> {
  if (options.n <= options.perRequest()) {
    // The common case: nothing to put together.
    const whole = await ask(options.n, { signal: options.signal, onDelta: options.onDelta })
    if (whole.choices.length === options.n && whole.choices.every(isFinished)) return whole
    return fillUp(options, ask, [whole])
  }
  return fillUp(options, ask, [])
}

async function fillUp<Choice extends { finishReason: FinishReason }>(
  options: FillOptions,
  ask: (n: number, piece: PieceOptions) => Promise<Choices<Choice>>,
  answers: Choices<Choice>[],
): Promise<Choices<Choice>> {
  const finished = answers.flatMap(({ choices }) => choices.filter(isFinished)).slice(0, options.n)
  while (finished.length < options.n) {
    const round = await askAtOnce(options, ask, finished.length)
    answers.push(...round)
    finished.push(...round.flatMap(({ choices }) => choices.filter(isFinished)))
    finished.splice(options.n)
  }
  const [first] = answers
  if (first === undefined) throw new RangeError(`n must be at least 1, received ${options.n}`)
  return { ...first, choices: finished, usage: mergeUsage(answers.map(({ usage }) => usage)) }
}

/** Requests for the choices from `start` on; the first that fails ends the others. */
async function askAtOnce<Choice extends { finishReason: FinishReason }>(
  options: FillOptions,
  ask: (n: number, piece: PieceOptions) => Promise<Choices<Choice>>,
  start: number,
): Promise<Choices<Choice>[]> {
  const others = new AbortController()
  const signal = options.signal === undefined ? others.signal : AbortSignal.any([options.signal, others.signal])
  const perRequest = Math.max(1, options.perRequest())
  const requests: Promise<Choices<Choice>>[] = []
  for (let base = start; base < options.n; base += perRequest) {
    const { onDelta } = options
    const piece = onDelta && ((delta: CompletionDelta) => onDelta({ ...delta, choice: delta.choice + base }))
    requests.push(ask(Math.min(perRequest, options.n - base), { signal, onDelta: piece }))
  }
  try {
    return await Promise.all(requests)
  } catch (error) {
    others.abort()
    // Those that end late have nowhere to go.
    await Promise.allSettled(requests)
    throw error
  }
}

function isFinished({ finishReason }: { finishReason: FinishReason }): boolean {
  return finishReason !== "abort"
}

/** The prompt was one, however often it was sent. */
function mergeUsage(usages: readonly Usage[]): Usage {
  const [first] = usages
  const sum = (read: (usage: Usage) => number | undefined): number =>
    usages.reduce((total, usage) => total + (read(usage) ?? 0), 0)
  return {
    promptTokens: first?.promptTokens ?? 0,
    completionTokens: sum((usage) => usage.completionTokens),
    ...(first?.cachedTokens === undefined ? {} : { cachedTokens: first.cachedTokens }),
    ...(usages.every((usage) => usage.reasoningTokens === undefined)
      ? {}
      : { reasoningTokens: sum((usage) => usage.reasoningTokens) }),
  }
}
