import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"

import { AtroposError } from "../../runtime/errors.ts"

export interface HubOptions {
  /** Branch, tag or commit. @default "main" */
  revision?: string
  /** Where downloads are kept. @default ~/.cache/atropos/hub */
  cacheFolder?: string
  /** The Python tools' cache, which is looked into before anything is downloaded. @default ~/.cache/huggingface/hub */
  sharedCacheFolder?: string
  /** For gated models. @default the variable HF_TOKEN */
  accessToken?: string
  /** Never asks the network. @default whether the variable HF_HUB_OFFLINE is 1 */
  offline?: boolean
  fetch?: typeof fetch
}

interface ResolvedHubOptions {
  revision: string
  cacheFolder: string
  sharedCacheFolder: string
  accessToken: string | undefined
  offline: boolean
  fetch: typeof fetch
}

/** The hub's settings, with the same environment variables that its Python tools read. */
export function resolveHubOptions(options: HubOptions, environment = process.env): ResolvedHubOptions {
  const home = environment["HF_HOME"] ?? join(homedir(), ".cache", "huggingface")
  return {
    revision: options.revision ?? "main",
    cacheFolder: options.cacheFolder ?? join(homedir(), ".cache", "atropos", "hub"),
    sharedCacheFolder: options.sharedCacheFolder ?? environment["HF_HUB_CACHE"] ?? join(home, "hub"),
    accessToken: options.accessToken ?? environment["HF_TOKEN"],
    offline: options.offline ?? environment["HF_HUB_OFFLINE"] === "1",
    fetch: options.fetch ?? fetch,
  }
}

/**
 * Reads one file of a hub repository: from our cache, from the Python tools' cache, or from the network
 * (and then keeps it). Resolves with undefined for a file that the repository does not have.
 */
export async function readHubFile(
  repository: string,
  file: string,
  options: ResolvedHubOptions,
): Promise<string | undefined> {
  const kept = join(options.cacheFolder, repository.replaceAll("/", "--"), options.revision, file)
  const cached = (await readIfThere(kept)) ?? (await readSharedCache(repository, file, options))
  if (cached !== undefined) return cached === "" ? undefined : cached

  if (options.offline && file !== "tokenizer.json") return undefined
  if (options.offline)
    throw new AtroposError(
      "hub-unavailable",
      `${file} of ${repository} is not in the cache (looked for ${kept}) and downloads are switched off; ` +
        "put the file there, pass a local directory, or unset HF_HUB_OFFLINE",
      { facts: { path: kept } },
    )
  const text = await download(repository, file, kept, options)
  await mkdir(dirname(kept), { recursive: true })
  const partial = `${kept}.${process.pid}.partial`
  await writeFile(partial, text)
  await rename(partial, kept)
  return text === "" ? undefined : text
}

/** The text; "" for a file that is not in the repository, which is remembered as an empty file. */
async function download(repository: string, file: string, kept: string, options: ResolvedHubOptions): Promise<string> {
  const { downloadFile } = await import("@huggingface/hub")
  try {
    const blob = await downloadFile({
      repo: { type: "model", name: repository },
      path: file,
      revision: options.revision,
      fetch: options.fetch,
      ...(options.accessToken === undefined ? {} : { accessToken: options.accessToken }),
    })
    return blob === null ? "" : await blob.text()
  } catch (error) {
    const status = statusOf(error)
    const reason =
      status === 401 || status === 403
        ? "the hub refused access: accept the model's terms there and set HF_TOKEN"
        : `the hub did not answer (${error instanceof Error ? error.message : String(error)})`
    throw new AtroposError(
      "hub-unavailable",
      `${file} of ${repository} is not in the cache (looked for ${kept}) and could not be downloaded: ${reason}; ` +
        "a local directory with tokenizer.json works without a network, HF_HUB_OFFLINE=1 with what is in the cache",
      { cause: error, facts: { path: kept, status }, retryable: status === undefined || status >= 500 },
    )
  }
}

function statusOf(error: unknown): number | undefined {
  return typeof error === "object" && error !== null && "statusCode" in error && typeof error.statusCode === "number"
    ? error.statusCode
    : undefined
}

/** `models--owner--name/refs/REVISION` holds a commit, `snapshots/COMMIT` its files. */
async function readSharedCache(
  repository: string,
  file: string,
  options: ResolvedHubOptions,
): Promise<string | undefined> {
  const folder = join(options.sharedCacheFolder, `models--${repository.replaceAll("/", "--")}`)
  const commit = (await readIfThere(join(folder, "refs", options.revision)))?.trim() ?? options.revision
  return readIfThere(join(folder, "snapshots", commit, file))
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined
    throw error
  }
}
