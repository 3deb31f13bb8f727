import { mkdir, open, rename, rm, stat } from "node:fs/promises"
import { dirname } from "node:path"

import { AtroposError } from "../../runtime/errors.ts"
import { retry } from "../../runtime/retry.ts"

export interface DownloadOptions {
  url: string
  /** Where the file goes when it is whole; until then `<path>.incomplete` grows beside it. */
  path: string
  /** Bytes of the whole file. */
  size: number
  isWhole: (path: string) => Promise<boolean>
  accessToken?: string
  fetch: typeof fetch
  signal?: AbortSignal
}

const totalTimeoutMs = 10 * 60_000

/** Downloads a file, going on where an earlier attempt, also of another process, was cut. */
export async function downloadFile(options: DownloadOptions): Promise<void> {
  const incomplete = `${options.path}.incomplete`
  await mkdir(dirname(options.path), { recursive: true })
  let discarded = false
  await retry(
    async () => {
      await append(incomplete, options)
      if (await options.isWhole(incomplete)) return
      // The pieces do not belong together: the file has changed between two attempts. Once is bad luck.
      await rm(incomplete, { force: true })
      const again = !discarded
      discarded = true
      throw new AtroposError(
        "hub-unavailable",
        `what was downloaded from ${options.url} is not what the hub announced`,
        {
          retryable: again,
        },
      )
    },
    {
      policy: { firstWaitMs: 200, longestWaitMs: 5000 },
      totalTimeoutMs,
      signal: options.signal,
    },
  )
  await rename(incomplete, options.path)
}

/** One attempt: asks for what is missing and writes it behind what is there. */
async function append(incomplete: string, { url, size, accessToken, fetch, signal }: DownloadOptions): Promise<void> {
  const there = (await stat(incomplete).catch(() => undefined))?.size ?? 0
  if (there === size && size > 0) return
  if (there > size) await rm(incomplete, { force: true })
  const start = there > size ? 0 : there
  let response: Response
  try {
    response = await fetch(url, {
      headers: {
        ...(start > 0 ? { range: `bytes=${start}-` } : {}),
        ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
      },
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    throw cut(url, error)
  }
  if (!response.ok || response.body === null) {
    await response.body?.cancel()
    if (response.status === 416) await rm(incomplete, { force: true })
    throw new AtroposError("hub-unavailable", `${url} answered with status ${response.status}`, {
      facts: { status: response.status },
      retryable: response.status >= 500 || response.status === 429 || response.status === 416,
    })
  }
  const resumed = start > 0 && response.status === 206
  const file = await open(incomplete, resumed ? "a" : "w")
  try {
    // Piece by piece, so that what came before a cut is kept.
    for await (const bytes of response.body) await file.appendFile(bytes)
  } catch (error) {
    signal?.throwIfAborted()
    throw cut(url, error)
  } finally {
    await file.close()
  }
  const now = (await stat(incomplete)).size
  if (now < size) throw cut(url, new Error(`${now} of ${size} bytes came`))
}

function cut(url: string, cause: unknown): AtroposError {
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new AtroposError("hub-unavailable", `the download of ${url} was cut: ${detail}`, { cause, retryable: true })
}
