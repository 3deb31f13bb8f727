import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const vectors = fileURLToPath(new URL("../../vectors/", import.meta.url))

/** The files of a suite's vectors that need no large tokenizer: `mini-*` families and what has no tokenizer. */
export function quickFiles(folder: string): string[] {
  return readdirSync(join(vectors, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /(^|\/)(mini-[^/]*|snippets|cases)\.jsonl?$/.test(file))
    .map((file) => join(vectors, folder, file))
}
