import { fileURLToPath } from "node:url"

/** The file that starts `atropos`, the same from source and from the build. */
export function commandFile(): string {
  const fromHere = import.meta.url.endsWith(".ts") ? "../../../bin/atropos.js" : "../../../../../bin/atropos.js"
  return fileURLToPath(new URL(fromHere, import.meta.url))
}
