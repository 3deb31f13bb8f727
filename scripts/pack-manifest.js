// Run by npm around `npm pack` and `npm publish`: in the repository the package's entry points are sources, which
// Node does not strip under node_modules; in the tarball they are the build. `before` swaps them in, `after` undoes it.
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"

const here = new URL("../packages/atropos/", import.meta.url)
const manifest = new URL("package.json", here)
const saved = new URL("package.json.source", here)
const borrowed = ["README.md", "LICENSE"]

if (process.argv[2] === "before") {
  if (!existsSync(new URL("dist/atropos/src/index.js", here))) {
    console.error("There is no build: run `npm run build` before packing.")
    process.exit(1)
  }
  if (!existsSync(saved)) copyFileSync(manifest, saved)
  const contents = JSON.parse(readFileSync(saved, "utf8"))
  for (const [name, path] of Object.entries(contents.exports)) {
    if (!path.endsWith(".ts")) continue
    const built = path.replace("./src/", "./dist/atropos/src/").slice(0, -3)
    contents.exports[name] = { types: `${built}.d.ts`, default: `${built}.js` }
  }
  delete contents.scripts
  writeFileSync(manifest, `${JSON.stringify(contents, null, 2)}\n`)
  for (const file of borrowed) copyFileSync(new URL(`../../${file}`, here), new URL(file, here))
} else {
  if (existsSync(saved)) renameSync(saved, manifest)
  for (const file of borrowed) rmSync(new URL(file, here), { force: true })
}
