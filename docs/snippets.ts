import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"

/** A fenced block of a Markdown file. */
export interface Snippet {
  /** `docs/x.md:12`, the line of the opening fence. */
  place: string
  language: string
  /** Words after the language: `run` for a program that is executed. */
  marks: readonly string[]
  text: string
}

const root = new URL("..", import.meta.url).pathname

/** The snippets of the README, of docs/ and of each environment's README. */
export function readSnippets(): Snippet[] {
  return documents().flatMap((file) => readFile(file))
}

export function documents(): string[] {
  const below = (folder: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".md") && !file.includes("node_modules"))
      .map((file) => join(root, folder, file))
  return [join(root, "README.md"), join(root, "CONTRIBUTING.md"), ...below("docs"), ...below("environments")]
}

function readFile(file: string): Snippet[] {
  const snippets: Snippet[] = []
  let open: { line: number; info: string; lines: string[] } | undefined
  for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
    const fence = /^\s*```(.*)$/.exec(line)
    if (fence === null) {
      open?.lines.push(line)
    } else if (open === undefined) {
      open = { line: index + 1, info: fence[1] ?? "", lines: [] }
    } else {
      const [language = "", ...marks] = open.info.trim().split(/\s+/)
      const place = `${relative(root, file)}:${open.line}`
      snippets.push({ place, language, marks, text: `${open.lines.join("\n")}\n` })
      open = undefined
    }
  }
  return snippets
}
