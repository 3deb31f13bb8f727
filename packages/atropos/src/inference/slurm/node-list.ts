import { AtroposError } from "../../runtime/errors.ts"

/** Larger lists are taken for mistakes. */
const mostNodes = 100_000

/**
 * The hosts of a Slurm node list such as `login,gpu[01-03,7]-[a,b]`: comma-separated names with ranges in brackets,
 * whose leading zeros are kept; several brackets of one name vary like nested loops, the last one fastest.
 */
export function expandNodeList(list: string): string[] {
  const nodes: string[] = []
  for (const name of splitNames(list)) {
    for (const node of expandName(name, list)) {
      nodes.push(node)
      if (nodes.length > mostNodes) throw invalid(list, `names more than ${mostNodes} nodes`)
    }
  }
  return nodes
}

/** At the commas outside brackets. */
function splitNames(list: string): string[] {
  const names: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at <= list.length; at++) {
    const character = list[at]
    if (character === "[") depth += 1
    if (character === "]") depth -= 1
    if (depth < 0 || depth > 1) throw invalid(list, "has brackets that do not match")
    if (character === undefined || (character === "," && depth === 0)) {
      const name = list.slice(start, at).trim()
      if (name !== "") names.push(name)
      start = at + 1
    }
  }
  if (depth !== 0) throw invalid(list, "has brackets that do not match")
  return names
}

function* expandName(name: string, list: string): Generator<string, void, undefined> {
  const open = name.indexOf("[")
  if (open === -1) {
    yield name
    return
  }
  const close = name.indexOf("]", open)
  const before = name.slice(0, open)
  for (const middle of expandRanges(name.slice(open + 1, close), list)) {
    for (const after of expandName(name.slice(close + 1), list)) yield before + middle + after
  }
}

function* expandRanges(ranges: string, list: string): Generator<string, void, undefined> {
  for (const range of ranges.split(",")) {
    const [, from, to] = /^(\d+)-(\d+)$/.exec(range) ?? []
    if (from === undefined || to === undefined) {
      if (!/^[\w.-]+$/.test(range)) throw invalid(list, `has the range ${JSON.stringify(range)}`)
      yield range
      continue
    }
    if (Number(from) > Number(to)) throw invalid(list, `has the range ${range}, which goes down`)
    for (let number = Number(from); number <= Number(to); number++) yield String(number).padStart(from.length, "0")
  }
}

function invalid(list: string, fault: string): AtroposError {
  const shown = list.length > 200 ? `${list.slice(0, 200)}…` : list
  return new AtroposError(
    "bad-option",
    `the Slurm node list ${JSON.stringify(shown)} ${fault}; write it as node[01-04]`,
  )
}
