// The flags that `--help` lists, and what the file of an environment says without a command or with an unknown one.
import { listFlags } from "../../../packages/atropos/src/cli/environment/help.ts"
import { runOwnCommand } from "../../../packages/atropos/src/cli/environment/main.ts"
import { isAtroposError } from "../../../packages/atropos/src/runtime/errors.ts"
import type { Report, Verdict } from "../../runner/suite.ts"
import { createContext } from "./context.ts"
import { aboutSmall, SmallEnvironment } from "./small-environment.ts"

interface RecordedFlag {
  type: string
  default: string
}

export interface HelpFile {
  commands: Record<string, { flags: Record<string, RecordedFlag> } | "same">
  top: { exit: number }
  no_command: object
  unknown_command: { exit: number }
}

export async function runHelp(file: HelpFile, name: string, report: Report): Promise<void> {
  const listed = new Map(
    listFlags(aboutSmall()).flatMap(({ flags }) => flags.map((flag) => [flag.flag, flag] as const)),
  )
  for (const [command, described] of Object.entries(file.commands)) {
    const printed = await run([command, "--help"])
    report(
      `${name}: ${command} --help`,
      verdictOf(printed.exit === 0 && printed.text.includes("--env.group_size"), printed.text),
    )
    if (described === "same") continue
    for (const [flag, recorded] of Object.entries(described.flags)) {
      const ours = listed.get(flag)
      const same = ours !== undefined && printed.text.includes(`${flag} `) && agrees(recorded, ours)
      report(
        `${name}: ${command} ${flag}`,
        verdictOf(same, `${JSON.stringify(ours)}, recorded ${JSON.stringify(recorded)}`),
      )
    }
  }
  const top = await run(["--help"])
  report(
    `${name}: --help`,
    verdictOf(top.exit === file.top.exit && /serve\|process\|evaluate/.test(top.text), top.text),
  )
  // The original ends with a traceback; wrong usage is exit 2.
  const none = await run([])
  report(`${name}: no command`, verdictOf(none.exit === 2, none.text))
  const unknown = await run(["train"])
  report(`${name}: unknown command`, verdictOf(unknown.exit === file.unknown_command.exit, unknown.text))
}

async function run(argv: string[]): Promise<{ exit: number; text: string }> {
  const { context, output } = createContext(".")
  try {
    const exit = await runOwnCommand(SmallEnvironment, argv, context)
    return { exit, text: output() }
  } catch (error) {
    if (!isAtroposError(error)) throw error
    return { exit: error.code === "bad-option" ? 2 : 1, text: error.message }
  }
}

function verdictOf(passed: boolean, difference: string): Verdict {
  return passed ? { verdict: "passed" } : { verdict: "failed", difference }
}

function agrees(recorded: RecordedFlag, ours: { type: string; default: unknown }): boolean {
  return (
    typeAgrees(recorded.type, ours.type) &&
    JSON.stringify(readPython(recorded.default)) === JSON.stringify(ours.default)
  )
}

function typeAgrees(recorded: string, ours: string): boolean {
  const type = recorded.replace(/^Union\[(.*), None\]$/, "$1")
  const words = /^Literal\[(.*)\]$/.exec(type)?.[1]
  if (words !== undefined) {
    const wanted = words.split(", ").map((word) => word.slice(1, -1))
    return ours.split("|").toSorted().join() === wanted.toSorted().join()
  }
  if (type.endsWith("Enum")) return ours.includes("|")
  if (type.startsWith("List[") || type.startsWith("Dict[")) return ours === "json"
  return ours === (type === "str" ? "text" : type)
}

/** A value as Python prints it. */
function readPython(text: string): unknown {
  const enumeration = /^<\w+\.\w+: '(.*)'>$/.exec(text)?.[1]
  if (enumeration !== undefined) return enumeration
  const json = text
    .replace(/^'(.*)'$/, (_, inner: string) => JSON.stringify(inner))
    .replace(/^None$/, "null")
    .replace(/^True$/, "true")
    .replace(/^False$/, "false")
  return JSON.parse(json) as unknown
}
