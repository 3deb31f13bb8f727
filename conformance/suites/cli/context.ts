import type { CommandContext } from "../../../packages/atropos/src/cli/command.ts"

/** What a command runs in, with its output gathered. */
export function createContext(workingDirectory: string): {
  context: CommandContext
  output: () => string
  log: () => string
} {
  const printed: string[] = []
  const logged: string[] = []
  return {
    context: {
      stdout: (text) => void printed.push(text),
      stderr: (text) => void logged.push(text),
      signal: new AbortController().signal,
      environment: {},
      workingDirectory,
    },
    output: () => printed.join(""),
    log: () => logged.join(""),
  }
}
