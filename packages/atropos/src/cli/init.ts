import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

import { z } from "zod"

import { AtroposError } from "../runtime/errors.ts"
import { defineCommand, type Command } from "./command.ts"
import { environmentFile, readmeFile, type TemplateNames, testFile } from "./init/templates.ts"

const options = z.object({})

/** `atropos init <name>`: a new environment that works, with a passing test. */
export const initCommand: Command<typeof options> = defineCommand({
  name: "init",
  summary: "Write a new environment with a passing test",
  positionals: ["name"],
  options,
  async run(_options, positionals, context) {
    const [path, ...more] = positionals
    if (path === undefined || more.length > 0) {
      throw new AtroposError("bad-option", "say one name: atropos init my-env")
    }
    const names = namesOf(basename(path))
    const folder = join(dirname(resolve(context.workingDirectory, path)), names.kebab)
    if (existsSync(folder) && readdirSync(folder).length > 0) {
      throw new AtroposError("bad-option", `${folder} exists and is not empty: nothing was written; take another name`)
    }
    mkdirSync(folder, { recursive: true })
    const files: Readonly<Record<string, string>> = {
      [`${names.kebab}.ts`]: environmentFile(names),
      [`${names.kebab}.test.ts`]: testFile(names),
      "README.md": readmeFile(names),
      // Says that the files are ES modules, whatever the folder above is.
      "package.json": `${JSON.stringify({ name: names.kebab, private: true, type: "module" }, undefined, 2)}\n`,
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const shown = relative(context.workingDirectory, folder)
    context.stdout(
      `wrote ${shown}/{${Object.keys(files).join(", ")}}\n\n${nextSteps(quote(shown), quote(join(shown, `${names.kebab}.test.ts`)))}`,
    )
    return 0
  },
})

/** For the shell, where a path has more in it than names do. */
const quote = (path: string): string => (/^[\w./\\:-]+$/.test(path) ? path : JSON.stringify(path))

function nextSteps(folder: string, test: string): string {
  return `next:
  npx node --test ${test}
      its test
  npx atropos check ${folder}
      what training needs of it, offline
  npx atropos process ${folder} --testing --env.total_steps 4
      groups and a page to look at, from a fake model
  npx atropos run-api
  npx atropos serve ${folder} --testing
      the loop without a model: serve begins when a trainer asks the server for a batch
  npx atropos serve ${folder} --openai.server_type vllm --openai.base_url http://localhost:9001/v1 --env.tokenizer_name MODEL
      the environment on your inference server; MODEL is a hub id or a directory with its tokenizer.json
`
}

function namesOf(name: string): TemplateNames {
  const snake = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[-. ]+/g, "_")
  if (!/^[a-z][a-z0-9_]*$/.test(snake)) {
    throw new AtroposError(
      "bad-option",
      `${JSON.stringify(name)} is no name for an environment: letters, digits, - and _, the first a letter, e.g. my-env`,
    )
  }
  return {
    snake,
    kebab: snake.replaceAll("_", "-"),
    camel: snake.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
  }
}
