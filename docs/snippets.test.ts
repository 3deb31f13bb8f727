import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { afterAll, describe, expect, it } from "vitest"

import { commands } from "../packages/atropos/src/cli/commands.ts"
import { documents, readSnippets } from "./snippets.ts"

const root = new URL("..", import.meta.url).pathname
// Inside the repository, so that the package's own name resolves as it does for users.
const folder = mkdtempSync(join(root, "docs", ".snippets-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const snippets = readSnippets()
const programs = snippets
  .filter(({ language }) => language === "ts")
  .map((snippet, index) => ({ ...snippet, file: join(folder, `snippet-${index}.ts`) }))
for (const { file, text } of programs) writeFileSync(file, text)

describe("snippets in the docs", () => {
  it("compile", () => {
    const config = join(folder, "tsconfig.json")
    writeFileSync(config, JSON.stringify({ extends: "../../tsconfig.json", include: ["*.ts"], exclude: [] }))
    const result = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", config, "--noUnusedLocals", "false"], {
      cwd: folder,
      encoding: "utf8",
    })
    const named = programs.reduce(
      (output, { file, place }) => output.replaceAll(relative(folder, file), place),
      result.stdout,
    )
    expect(named).toBe("")
  }, 120_000)

  it.each(programs.filter(({ marks }) => marks.includes("run")))("$place runs", ({ file }) => {
    const result = spawnSync(process.execPath, [file], { cwd: folder, encoding: "utf8", timeout: 60_000 })
    expect(result.stderr).toBe("")
    expect(result.status).toBe(0)
  })

  it("name commands that exist", () => {
    const shell = snippets.filter(({ language }) => ["sh", "bash", "console"].includes(language))
    const unknown = shell.flatMap(({ place, text }) =>
      [...text.matchAll(/\batropos(?:-rl)? ([a-z][a-z-]*)/g)]
        .map((found) => found[1] ?? "")
        .filter((name) => !(name in commands))
        .map((name) => `${place}: atropos ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it("name npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object }
    const unknown = documents().flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/npm run ([a-z:-]+)/g)]
        .map((found) => found[1] ?? "")
        .filter((name) => !(name in scripts))
        .map((name) => `${relative(root, file)}: npm run ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it("link to files that exist", () => {
    const broken = documents().flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)]
        .map((found) => found[1] ?? "")
        .filter((target) => !existsSync(join(dirname(file), target)))
        .map((target) => `${relative(root, file)}: ${target}`),
    )
    expect(broken).toEqual([])
  })
})
