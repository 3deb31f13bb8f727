import type { CommandContext } from "../command.ts"

/** A line that shows how far long work is; nothing where there is no terminal. */
export interface Progress {
  update(done: number, total: number, note: string): void
  /** Runs `write` with the line out of the way. */
  around(write: () => void): void
  end(): void
}

const barWidth = 24
const leastMs = 100

export function createProgress(context: Pick<CommandContext, "stderr" | "terminal">, shown: boolean): Progress {
  if (!shown || context.terminal !== true) return { update: () => {}, around: (write) => write(), end: () => {} }
  let line = ""
  let drawnAt = 0
  const clear = (): void => {
    if (line !== "") context.stderr("\r\u001B[2K")
  }
  return {
    update: (done, total, note) => {
      const now = performance.now()
      if (now - drawnAt < leastMs && done < total) return
      drawnAt = now
      line = `${bar(total > 0 ? done / total : 0)} ${done}/${total}  ${note}`
      context.stderr(`\r\u001B[2K${line}`)
    },
    around: (write) => {
      clear()
      write()
      if (line !== "") context.stderr(line)
    },
    end: () => {
      clear()
      line = ""
    },
  }
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * barWidth)
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`
}
