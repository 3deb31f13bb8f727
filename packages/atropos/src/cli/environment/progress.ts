import type { CommandContext } from "../command.ts"

/** How far long work is: a line that is drawn anew on a terminal, and now and then a line of its own elsewhere. */
export interface Progress {
  update(done: number, total: number, note: string): void
  /** Runs `write` with the line out of the way. */
  around(write: () => void): void
  end(): void
}

const barWidth = 24
const leastMs = 100
/** Between lines where there is no terminal: the first ones come soon, and a day's do not fill a disk. */
const firstLineMs = 10_000
const longestLineMs = 60_000

export function createProgress(
  context: Pick<CommandContext, "stderr" | "terminal" | "columns">,
  shown: boolean,
  now: () => number = () => performance.now(),
): Progress {
  if (!shown) return { update: () => {}, around: (write) => write(), end: () => {} }
  return context.terminal === true ? drawnLine(context, now) : linesNowAndThen(context, now)
}

function drawnLine({ stderr, columns = 120 }: Pick<CommandContext, "stderr" | "columns">, now: () => number): Progress {
  let line = ""
  let drawnAt = Number.NEGATIVE_INFINITY
  const clear = (): void => {
    if (line !== "") stderr("\r\u001B[2K")
  }
  return {
    update: (done, total, note) => {
      if (now() - drawnAt < leastMs && done < total) return
      drawnAt = now()
      // What is wider than the terminal would stand on two lines, of which only one is cleared.
      line = `${bar(total > 0 ? done / total : 0)} ${done}/${total}  ${note}`.slice(0, columns - 1)
      stderr(`\r\u001B[2K${line}`)
    },
    around: (write) => {
      clear()
      write()
      if (line !== "") stderr(line)
    },
    end: () => {
      clear()
      line = ""
    },
  }
}

function linesNowAndThen({ stderr }: Pick<CommandContext, "stderr">, now: () => number): Progress {
  const began = now()
  let waitMs = firstLineMs
  let nextAt = began + waitMs
  return {
    update: (done, total, note) => {
      if (now() < nextAt) return
      stderr(`${Math.round((now() - began) / 1000)} s  ${done}/${total}  ${note}\n`)
      waitMs = Math.min(longestLineMs, waitMs * 1.5)
      nextAt = now() + waitMs
    },
    around: (write) => write(),
    end: () => {},
  }
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * barWidth)
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`
}
