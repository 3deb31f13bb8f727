// What a user gets: packs the build, checks the tarball's entry points, installs it into an empty folder outside the
// repository, and goes the way of a newcomer there: init, the written test, a trajectory server, serve.
import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { createInterface } from "node:readline"

const root = new URL("..", import.meta.url).pathname
const bin = join(root, "node_modules/.bin")
const folder = mkdtempSync(join(tmpdir(), "atropos-package-"))
// Users bring their own Node; here it is the one this script runs on.
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}` }
const started: ChildProcess[] = []

try {
  execFileSync("npm", ["pack", "-w", "packages/atropos", "--pack-destination", folder, "--silent"], { cwd: root, env })
  const tarball = join(folder, readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "")
  await step("publint", () => run(join(bin, "publint"), [tarball, "--strict"]))
  await step("are the types wrong", () => run(join(bin, "attw"), [tarball, "--profile", "esm-only"]))

  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "newcomer", private: true, type: "module" }))
  await step("install", () => run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", tarball]))
  await step("atropos init", () => run("npx", ["atropos", "init", "my-env"]))
  await step("its test", () => run("node", ["--test", "my-env/my-env.test.ts"]))
  await step("atropos check", () => run("npx", ["atropos", "check", "my-env/my-env.ts"]))
  const server = await startServer()
  await registerTrainer(server)
  await step("atropos serve", () =>
    run(
      // Not by npx, which would not pass a signal on.
      join(folder, "node_modules/.bin/atropos"),
      ["serve", "my-env/my-env.ts", "--testing", "--env.rollout_server_url", server, "--env.total_steps", "2"],
      120_000,
    ),
  )
  console.log("the package works outside the repository")
} finally {
  for (const child of started) child.kill("SIGTERM")
  rmSync(folder, { recursive: true, force: true })
}

async function step(name: string, work: () => Promise<void>): Promise<void> {
  const start = Date.now()
  await work()
  console.log(`${name}: ok (${((Date.now() - start) / 1000).toFixed(1)} s)`)
}

async function run(command: string, argv: readonly string[], timeoutMs = 300_000): Promise<void> {
  const child = spawn(command, argv, { cwd: folder, env, stdio: "inherit", timeout: timeoutMs })
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null]
  if (code !== 0) throw new Error(`${command} ${argv.join(" ")} ended with ${code ?? signal}`)
}

async function startServer(): Promise<string> {
  // Not by npx, which would not pass a signal on.
  const child = spawn(join(folder, "node_modules/.bin/run-api"), ["--port", "0", "--store", "memory", "--json"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  })
  started.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
    if (address !== undefined) return address
  }
  await once(child, "exit")
  throw new Error("run-api ended before it said where it listens")
}

/** A trainer that registers and pulls, so that the environment has somebody to serve. */
async function registerTrainer(server: string): Promise<void> {
  const registration = {
    wandb_group: "g",
    wandb_project: "p",
    batch_size: 8,
    max_token_len: 4096,
    checkpoint_dir: folder,
    save_checkpoint_interval: 0,
    starting_step: 0,
    num_steps: 2,
  }
  await fetch(`${server}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(registration),
  })
  const pull = async (): Promise<void> => {
    for (let batches = 0; batches < 8;) {
      const answer = (await (await fetch(`${server}/batch?wait=5`)).json()) as { batch: unknown[] | null }
      if (answer.batch !== null) batches++
    }
  }
  // Ends with the server.
  pull().catch(() => {})
}
