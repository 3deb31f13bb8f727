#!/usr/bin/env node
// Starts the command from the build when there is one that is newer than the sources, else from source.
// Plain JavaScript that old Node versions can parse, so that they get a sentence and not a syntax error.
import { existsSync, readdirSync, statSync } from "node:fs"
import * as nodeModule from "node:module"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `atropos needs Node 22.19 or newer, this is ${process.versions.node} (${process.execPath}).\n` +
      "In a clone, `npm ci` brings Node 24: start commands with `npx atropos …` or `npm start`.\n" +
      "Elsewhere `npm install node@24` does, for `npx atropos …` and `npx node …` in that folder.",
  )
  process.exit(2)
}

// Compiled code is kept between starts: a server that restarts has to answer within a second.
nodeModule.enableCompileCache()

const packageRoot = fileURLToPath(new URL("..", import.meta.url))
const built = join(packageRoot, "dist", "atropos", "src", "cli", "main.js")
const source = join(packageRoot, "src", "cli", "main.ts")

function newest(folder) {
  let latest = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) latest = Math.max(latest, newest(path))
    else latest = Math.max(latest, statSync(path).mtimeMs)
  }
  return latest
}

const useBuild =
  existsSync(built) && (!existsSync(source) || statSync(built).mtimeMs >= newest(join(packageRoot, "src")))
if (useBuild && existsSync(source)) {
  // In a clone the package's own name means its sources; next to the build that would be a second copy of the library.
  const entries = {
    "atropos-rl": "dist/atropos/src/index.js",
    "atropos-rl/testing": "dist/atropos/src/testing.js",
  }
  const { registerHooks } = await import("node:module")
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const entry = entries[specifier]
      if (entry === undefined) return nextResolve(specifier, context)
      return { url: pathToFileURL(join(packageRoot, entry)).href, shortCircuit: true }
    },
  })
}
const { main } = await import(pathToFileURL(useBuild ? built : source).href)
process.exitCode = await main(process.argv.slice(2))
