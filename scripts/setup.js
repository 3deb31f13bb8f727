// The first step of `npm start` and `npm test`: installs what is missing, once, and checks the Node in use.
// Plain JavaScript, since it may run on an old Node.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const lock = join(root, "package-lock.json")
const stamp = join(root, "node_modules", ".atropos-setup")

const wanted = createHash("sha256").update(readFileSync(lock)).digest("hex")
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : ""
if (installed !== wanted) {
  console.error("Installing dependencies (npm ci), once …")
  const result = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    // npm itself may run on an older Node than the packages ask for; they run on the one that is installed here.
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: "skip" },
    shell: process.platform === "win32",
  })
  if (result.status !== 0) {
    console.error("npm ci failed; its message stands above.")
    process.exit(result.status ?? 1)
  }
  writeFileSync(stamp, wanted)
}

const brought = join(root, "node_modules", ".bin", "node")
const version = existsSync(brought)
  ? spawnSync(brought, ["--version"], { encoding: "utf8" }).stdout.trim().slice(1)
  : process.versions.node
const [major = 0, minor = 0] = version.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `Node 22.19 or newer is needed, this machine has ${version}, and no Node 24 package exists for ` +
      `${process.platform}-${process.arch} among the optional dependencies.\n` +
      "Install Node 24 and run the command again (also if npm was told to omit optional dependencies).",
  )
  process.exit(2)
}
