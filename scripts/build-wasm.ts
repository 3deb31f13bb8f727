// `npm run build:wasm`: compiles the scanner and encoder of the trajectory server to WebAssembly. The result is
// committed, so that nobody needs the compiler to run the server; `--check` fails when it is not what the sources give.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { spawnSync } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = new URL("..", import.meta.url).pathname
const source = "packages/atropos/src/server/bytes/assembly/index.ts"
const target = join(root, "packages/atropos/src/server/bytes/wasm/codec.wasm")

const folder = mkdtempSync(join(tmpdir(), "atropos-wasm-"))
try {
  const built = join(folder, "codec.wasm")
  const options = ["-O3", "--noAssert", "--runtime", "stub", "--enable", "simd,bulk-memory"]
  const asc = join(root, "node_modules/.bin/asc")
  const result = spawnSync(asc, [source, "-o", built, ...options], { cwd: root, stdio: "inherit" })
  if (result.status !== 0) throw new Error(`asc failed with ${result.status ?? result.signal ?? "no status"}`)
  const bytes = readFileSync(built)
  if (!process.argv.includes("--check")) {
    writeFileSync(target, bytes)
    console.log(`built ${target} (${bytes.length} bytes)`)
  } else if (bytes.equals(readFileSync(target))) console.log("codec.wasm is what the sources give")
  else {
    console.error("codec.wasm differs from what the sources give: run `npm run build:wasm` and commit it")
    process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true })
}
