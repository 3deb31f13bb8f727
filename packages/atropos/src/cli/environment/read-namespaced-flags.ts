import { booleanWords } from "../read-value.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { toSnake } from "../../environment/config/keys.ts"

export interface NamespacedFlag {
  /** As written, `--env.group_size`. */
  flag: string
  /** "" for flags without one. */
  namespace: string
  /** In snake_case. */
  key: string
  /** undefined for a switch that came without a value. */
  text: string | undefined
}

/** Names that stand without a value; `--json` is `--json true`. */
const switches = new Set(["testing", "allow_unknown", "json", "help", "quiet"])

const negativeNumber = /^-(\d|\.\d|inf)/i

/** Splits a command line into flags and positional arguments; a negative number after a space is a value. */
export function readNamespacedFlags(argv: readonly string[]): { flags: NamespacedFlag[]; positionals: string[] } {
  const flags: NamespacedFlag[] = []
  const positionals: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? ""
    if (argument === "-h") {
      flags.push({ flag: argument, namespace: "", key: "help", text: undefined })
    } else if (!argument.startsWith("--")) {
      positionals.push(argument)
    } else {
      const equals = argument.indexOf("=")
      const flag = equals === -1 ? argument : argument.slice(0, equals)
      const name = flag.slice(2)
      const dot = name.indexOf(".")
      const namespace = dot === -1 ? "" : toSnake(name.slice(0, dot))
      const key = toSnake(name.slice(dot + 1))
      const isSwitch = namespace === "" && switches.has(key)
      const next = argv[index + 1]
      const nextIsValue = next !== undefined && (!next.startsWith("-") || negativeNumber.test(next))
      let text: string | undefined
      if (equals !== -1) text = argument.slice(equals + 1)
      else if (nextIsValue && (!isSwitch || booleanWords.has(next.toLowerCase()))) {
        text = next
        index += 1
      } else if (!isSwitch) {
        const hint =
          next === undefined
            ? ""
            : `, received ${JSON.stringify(next)}; write ${flag}=… for values that begin with a dash`
        throw new AtroposError("bad-option", `${flag} needs a value${hint}; see --help`)
      }
      flags.push({ flag, namespace, key, text })
    }
  }
  return { flags, positionals }
}
