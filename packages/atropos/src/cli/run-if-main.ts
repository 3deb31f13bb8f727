import { realpathSync } from "node:fs"
import { fileURLToPath } from "node:url"

import type { AnyEnvironmentClass } from "../environment/environment-class.ts"

/**
 * Makes an environment's file a command of its own: `npx node my-env.ts serve --env.group_size 8`. Does nothing when
 * the file is imported. Call it as the file's last line, with `import.meta`.
 */
export function runIfMain(meta: { url: string }, environmentClass: AnyEnvironmentClass): void {
  const script = process.argv[1]
  if (script === undefined || realpathSync(script) !== realpathSync(fileURLToPath(meta.url))) return
  // Loaded only here, so that importing an environment does not load the commands.
  void import("./environment/main.ts").then(async ({ main }) => {
    process.exitCode = await main(environmentClass, process.argv.slice(2))
  })
}
