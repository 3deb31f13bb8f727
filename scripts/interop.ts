// Real Python peers against our parts: `npm run interop`. What they need goes to .cache/interop once; without a
// Python 3 that can make a virtual environment, or without a way to its packages, this says so and checks nothing.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const peers = join(root, "conformance/interop")
const cache = join(root, ".cache/interop")
const python = join(cache, "bin/python")

function run(command: string, args: readonly string[], stdio: "inherit" | "pipe"): { ok: boolean; words: string } {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio,
    encoding: "utf8",
    env: { ...process.env, ATROPOS_PYTHON: python },
  })
  return { ok: result.status === 0, words: result.error?.message ?? result.stderr ?? "" }
}

function skip(why: string): never {
  console.log(`SKIPPED: interop with Python. ${why.trim()}`)
  process.exit(0)
}

/** Makes the peers' Python, unless it is there with the very packages that are wanted. */
function preparePython(): void {
  const needs = [
    ["-r", join(peers, "requirements.txt")],
    ["--no-deps", "-r", join(peers, "requirements-bare.txt")],
  ]
  const wanted = needs.map((args) => readFileSync(args.at(-1) ?? "", "utf8")).join("")
  const stamp = join(cache, "installed.txt")
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  console.log("interop: setting up Python in .cache/interop (about 190 MB, once)")
  const made = run("python3", ["-m", "venv", cache], "pipe")
  if (!made.ok) skip(`python3 -m venv failed: ${made.words || "no words"}`)
  for (const args of needs) {
    const installed = run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...args], "pipe")
    if (!installed.ok) skip(`pip install failed: ${installed.words.slice(-500)}`)
  }
  writeFileSync(stamp, wanted)
}

if (!run("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"], "pipe").ok) {
  skip("It needs python3, version 3.10 or newer.")
}
preparePython()
const failed = readdirSync(peers)
  .filter((file) => file.endsWith(".ts"))
  .filter((file) => !run(process.execPath, [join(peers, file)], "inherit").ok)
if (failed.length > 0) {
  console.log(`interop: failed in ${failed.join(", ")}`)
  process.exit(1)
}
