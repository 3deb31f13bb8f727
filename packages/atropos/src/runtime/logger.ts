/** Where a part says what happens. Libraries take one and are silent without; commands decide where lines go. */
export interface Logger {
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
  error(message: string, facts?: Readonly<Record<string, unknown>>): void
}

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const
export type LogLevel = (typeof logLevels)[number]

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A logger that writes lines (or, with `json`, one JSON object a line) of at least `level` to `write`. */
export function createLineLogger(options: { level: LogLevel; json: boolean; write: (line: string) => void }): Logger {
  const lowest = logLevels.indexOf(options.level)
  const log = (level: LogLevel) => (message: string, facts?: Readonly<Record<string, unknown>>) => {
    if (logLevels.indexOf(level) < lowest) return
    const time = new Date().toISOString()
    if (options.json) options.write(`${JSON.stringify({ time, level, message, ...facts })}\n`)
    else options.write(`${time.slice(11, 19)} ${level.padEnd(5)} ${message}${formatFacts(facts)}\n`)
  }
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") }
}

function formatFacts(facts: Readonly<Record<string, unknown>> | undefined): string {
  if (facts === undefined) return ""
  return Object.entries(facts)
    .map(([key, value]) => `  ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("")
}
