// Tokenizers of large families are npm packages in conformance/tokenizers; one is unpacked when a case first needs it.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const home = fileURLToPath(new URL("../../tokenizers/", import.meta.url))

interface Lock {
  packages: Record<string, { version?: string; integrity?: string }>
}

/** The folder of a package, unpacked from the registry if it is not here yet. */
export function packageFolder(name: string, version: string): string {
  const folder = join(home, "node_modules", name)
  const manifest = join(folder, "package.json")
  if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version === version)
    return folder
  console.error(`conformance: fetching ${name}@${version} (tens of megabytes, once) …`)
  unpack(name, version, folder)
  return folder
}

function unpack(name: string, version: string, folder: string): void {
  mkdirSync(join(home, "node_modules"), { recursive: true })
  const work = mkdtempSync(join(home, "node_modules", ".fetch-"))
  try {
    const output = execFileSync("npm", ["pack", `${name}@${version}`, "--json", "--pack-destination", work], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    })
    const [packed] = JSON.parse(output) as { filename: string }[]
    const tarball = join(work, packed?.filename ?? "")
    checkIntegrity(name, version, tarball)
    execFileSync("tar", ["-xzf", tarball, "-C", work])
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(dirname(folder), { recursive: true })
    renameSync(join(work, "package"), folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function checkIntegrity(name: string, version: string, tarball: string): void {
  const lock = JSON.parse(readFileSync(join(home, "package-lock.json"), "utf8")) as Lock
  const locked = lock.packages[`node_modules/${name}`]
  // A family of someone else's may name a package that ours do not.
  if (locked?.version !== version) return
  const found = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`
  if (found !== locked.integrity) throw new Error(`${name}@${version} is not what the lock file says`)
}
