// `npm run hooks`: a pre-commit hook that formats, lints and typechecks what a commit changes.
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const hooks = execFileSync("git", ["rev-parse", "--git-path", "hooks"], { encoding: "utf8" }).trim()
mkdirSync(hooks, { recursive: true })
const file = join(hooks, "pre-commit")
writeFileSync(
  file,
  `#!/bin/sh
set -e
export PATH="$PWD/node_modules/.bin:$PATH"
files=$(git diff --cached --name-only --diff-filter=ACM -- '*.ts' '*.js')
[ -n "$files" ] || exit 0
oxfmt --check $files
oxlint --type-aware --deny-warnings $files
tsc -p tsconfig.json
`,
)
chmodSync(file, 0o755)
console.log(`wrote ${file}`)
