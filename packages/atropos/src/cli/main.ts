import { createRequire } from "node:module"
import { setTimeout } from "node:timers/promises"

import { z } from "zod"

import { AtroposError, isAtroposError } from "../runtime/errors.ts"
import { commands } from "./commands.ts"
import type { Command, CommandContext } from "./command.ts"
import { nearest } from "../runtime/nearest.ts"
import { describeFlags, parseFlags } from "./flags.ts"

/** Runs one command line and resolves to its exit code: 0 done, 1 failed, 2 wrong usage, others by command. */
export function main(argv: readonly string[]): Promise<number> {
  return runWithProcess((context) => runCommand(argv, context))
}

/** Terminals, npm and timeout(1) each pass a stop on, so that it comes twice: that is no second one. */
const sameStopMs = 500
/** Within this it has come twice, if the machine is not too busy. */
const sameStopSpreadMs = 100

/** Runs with the process's streams and signals; an error of use or operation is a sentence and an exit code. */
export async function runWithProcess(run: (context: CommandContext) => Promise<number>): Promise<number> {
  const abort = new AbortController()
  let stoppedAt = Number.POSITIVE_INFINITY
  const stop = (): void => {
    if (performance.now() - stoppedAt > sameStopMs) process.exit(130)
    stoppedAt = Math.min(stoppedAt, performance.now())
    abort.abort()
  }
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  const context: CommandContext = {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    terminal: process.stderr.isTTY,
    ...(process.stderr.isTTY ? { columns: process.stderr.columns } : {}),
    signal: abort.signal,
    environment: process.env,
    workingDirectory: process.cwd(),
  }
  try {
    return await run(context)
  } catch (error) {
    return reportError(error, context)
  } finally {
    // Node no longer listens for signals while it ends, and the same stop coming once more would kill it.
    const sinceStop = performance.now() - stoppedAt
    if (abort.signal.aborted && sinceStop < sameStopSpreadMs) await setTimeout(sameStopSpreadMs - sinceStop)
    process.off("SIGINT", stop)
    process.off("SIGTERM", stop)
  }
}

export async function runCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = argv
  try {
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      context.stdout(overview())
      return name === undefined ? 2 : 0
    }
    if (name === "--version" || name === "-v") {
      context.stdout(`${packageVersion()}\n`)
      return 0
    }
    const entry = commands[name]
    if (entry === undefined) {
      const near = nearest(name, Object.keys(commands))
      throw new AtroposError(
        "bad-option",
        `unknown command ${JSON.stringify(name)}${near === undefined ? "" : `, did you mean ${near}?`} (atropos --help lists them)`,
      )
    }
    const command = await entry.load()
    if ("runArguments" in command) return await command.runArguments(rest, context)
    const parsed = parseFlags(command.options, rest)
    if ("help" in parsed) {
      context.stdout(describeCommand(command))
      return 0
    }
    refuseFurther(command, parsed.positionals)
    return await command.run(parsed.options, parsed.positionals, context)
  } catch (error) {
    return reportError(error, context)
  }
}

function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)("atropos-rl/package.json")
  return z.object({ version: z.string() }).parse(manifest).version
}

function refuseFurther({ name, positionals = [] }: Command, given: readonly string[]): void {
  const further = given[positionals.length]
  if (further === undefined || positionals.at(-1)?.endsWith("…") === true) return
  const takes = positionals.length === 0 ? "flags only" : positionals.map((one) => `<${one}>`).join(" ")
  throw new AtroposError(
    "bad-option",
    `${name} takes ${takes}, received ${JSON.stringify(further)} as well; see atropos ${name} --help`,
  )
}

function reportError(error: unknown, context: CommandContext): number {
  if (!isAtroposError(error)) throw error
  context.stderr(`atropos: ${error.message}\n`)
  return error.code === "bad-option" ? 2 : 1
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 2
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}\n`)
  return `atropos <command> [flags]\n\n${lines.join("")}\natropos <command> --help lists its flags.\n`
}

function describeCommand(command: Command): string {
  const positionals = (command.positionals ?? []).map((name) => ` <${name}>`).join("")
  const flags = describeFlags(command.options)
  const usage = `atropos ${command.name}${positionals}`
  return flags === "" ? `${usage}\n\n${command.summary}\n` : `${usage} [flags]\n\n${command.summary}\n\n${flags}`
}
