// `npm run build`: what users install, in packages/atropos/dist/{atropos,trainer,environments}: JavaScript and
// declarations of the three workspaces that the one published package holds, with their data files beside them.
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const root = new URL("..", import.meta.url).pathname
const dist = join(root, "packages/atropos/dist")
const tsc = join(root, "node_modules/.bin/tsc")

const parts = [
  { name: "atropos", folder: "packages/atropos", include: ["packages/atropos/src"] },
  { name: "trainer", folder: "packages/trainer", include: ["packages/trainer/src"] },
  { name: "environments", folder: "environments", include: ["environments"] },
]

rmSync(dist, { recursive: true, force: true })
for (const part of parts) {
  compile(part)
  pointDeclarationsAtBuild(join(dist, part.name))
  copyDataFiles(join(root, part.folder), join(dist, part.name))
}
console.log(`built ${relative(root, dist)}`)

function compile(part: (typeof parts)[number]): void {
  const config = join(root, `tsconfig.build-${part.name}.json`)
  writeFileSync(
    config,
    JSON.stringify({
      extends: "./tsconfig.json",
      compilerOptions: {
        noEmit: false,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        stripInternal: true,
        rootDir: part.folder,
        outDir: join(dist, part.name),
        // The other parts see the library as users do: by its declarations.
        ...(part.name === "atropos"
          ? {}
          : {
              paths: {
                "atropos-rl": ["./packages/atropos/dist/atropos/src/index.d.ts"],
                "atropos-rl/testing": ["./packages/atropos/dist/atropos/src/testing.d.ts"],
              },
            }),
      },
      include: part.include,
      exclude: ["**/node_modules", "**/dist", "**/*.test.ts", "**/*.slow-test.ts", "**/assembly"],
    }),
  )
  const result = spawnSync(tsc, ["-p", config], { cwd: root, stdio: "inherit" })
  rmSync(config)
  if (result.status !== 0) process.exit(result.status ?? 1)
}

/** The compiler rewrites `./x.ts` imports in JavaScript only; declarations need it for resolvers of other tools. */
function pointDeclarationsAtBuild(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.name.endsWith(".d.ts")) continue
    const file = join(entry.parentPath, entry.name)
    const text = readFileSync(file, "utf8")
    writeFileSync(file, text.replaceAll(/((?:from|import\()\s*"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'))
  }
}

function copyDataFiles(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (["node_modules", "dist", "assembly", "bin"].includes(entry.name)) continue
    if (entry.isDirectory()) copyDataFiles(source, target)
    else if (!/\.(ts|tgz)$/.test(entry.name) && entry.name !== "package.json" && !existsSync(target)) {
      mkdirSync(dirname(target), { recursive: true })
      cpSync(source, target)
    }
  }
}
