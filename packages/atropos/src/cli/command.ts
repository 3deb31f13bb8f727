import type { z } from "zod"

/** What a command may touch of the process, so that it can be called without one. */
export interface CommandContext {
  stdout: (text: string) => void
  stderr: (text: string) => void
  /** Whether stderr is a terminal: progress is drawn there, and elsewhere comes as a line now and then. */
  terminal?: boolean
  /** The width of that terminal. */
  columns?: number
  /** Aborted at the first SIGINT or SIGTERM; another half a second later, or after, ends the process at once. */
  signal: AbortSignal
  environment: Readonly<Record<string, string | undefined>>
  workingDirectory: string
}

/**
 * One command of `atropos`. `options` is the one table of its flags: types, checks, defaults and
 * `--help` come from it (each field has a description). Resolves to the exit code.
 */
export interface Command<Schema extends z.ZodObject = z.ZodObject> {
  name: string
  summary: string
  /** Names of positional arguments, in order; "…" after the last takes the rest. */
  positionals?: readonly string[]
  options: Schema
  run(options: z.output<Schema>, positionals: readonly string[], context: CommandContext): Promise<number>
}

/** A command that reads its arguments itself, since its flags depend on what it is asked to run. */
export interface RawCommand {
  runArguments(argv: readonly string[], context: CommandContext): Promise<number>
}

export function defineCommand<Schema extends z.ZodObject>(command: Command<Schema>): Command<Schema> {
  return command
}
