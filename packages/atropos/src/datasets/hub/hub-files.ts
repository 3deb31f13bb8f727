import { createHash } from "node:crypto"
import { createReadStream, existsSync } from "node:fs"
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join, relative } from "node:path"

import { AtroposError, isAtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import { knownSplits, selectFiles } from "../select-files.ts"
import { downloadFile } from "./download-file.ts"

export interface HubDatasetOptions {
  /** Branch, tag or commit. @default "main" */
  revision?: string
  /** Where downloads are kept. @default ~/.cache/atropos/hub */
  cacheFolder?: string
  /** The Python tools' cache, which is looked into as well. @default ~/.cache/huggingface/hub */
  sharedCacheFolder?: string
  /** For gated and private data sets. @default the variable HF_TOKEN */
  accessToken?: string
  /** Never asks the network. @default whether the variable HF_HUB_OFFLINE is 1 */
  offline?: boolean
  /** Address of the hub. @default the variable HF_ENDPOINT, or https://huggingface.co */
  endpoint?: string
  fetch?: typeof fetch
  signal?: AbortSignal
}

export interface ResolvedHubDatasetOptions {
  revision: string
  cacheFolder: string
  sharedCacheFolder: string
  accessToken: string | undefined
  offline: boolean
  endpoint: string
  fetch: typeof fetch
  signal: AbortSignal | undefined
}

/** One file of a repository at one commit. `hash` is a sha256 (64 digits) or a git blob's sha1 (40 digits). */
export interface RemoteFile {
  path: string
  size: number
  hash: string
}

/** What is known of a repository: kept beside its files, so that they can be used without a network. */
interface Listing {
  commit: string
  files: RemoteFile[]
}

/** Where the hub keeps Parquet versions of data sets that are programs. */
const convertedRevision = "refs/convert/parquet"

/** The hub's settings, with the same environment variables that its Python tools read. */
function resolveOptions(options: HubDatasetOptions, environment = process.env): ResolvedHubDatasetOptions {
  const home = environment["HF_HOME"] ?? join(homedir(), ".cache", "huggingface")
  return {
    revision: options.revision ?? "main",
    cacheFolder: options.cacheFolder ?? join(homedir(), ".cache", "atropos", "hub"),
    sharedCacheFolder: options.sharedCacheFolder ?? environment["HF_HUB_CACHE"] ?? join(home, "hub"),
    accessToken: options.accessToken ?? environment["HF_TOKEN"],
    offline: options.offline ?? environment["HF_HUB_OFFLINE"] === "1",
    endpoint: (options.endpoint ?? environment["HF_ENDPOINT"] ?? "https://huggingface.co").replace(/\/+$/, ""),
    fetch: options.fetch ?? fetch,
    signal: options.signal,
  }
}

/**
 * Local paths of the files that hold a split of a data set on the hub: from the caches where they are there and as they
 * should be, else downloaded (and resumed where an earlier download was cut).
 */
export async function openHubFiles(
  id: string,
  options: HubDatasetOptions & { config?: string; split: string; logger?: Logger },
): Promise<string[]> {
  const resolved = resolveOptions(options)
  const selection = { config: options.config, split: options.split }
  try {
    return await filesAt(id, resolved, selection, options.logger)
  } catch (error) {
    if (!isAtroposError(error, "dataset-missing") || resolved.revision !== "main") throw error
    try {
      return await filesAt(id, { ...resolved, revision: convertedRevision }, selection, options.logger)
    } catch {
      // The repository as it is says better what it lacks.
      throw error
    }
  }
}

async function filesAt(
  id: string,
  options: ResolvedHubDatasetOptions,
  selection: { config: string | undefined; split: string },
  logger: Logger | undefined,
): Promise<string[]> {
  const folder = join(options.cacheFolder, `datasets--${id.replaceAll("/", "--")}`)
  const listing = await findListing(id, folder, options, logger)
  if (listing === undefined) return filesOfSharedCache(id, folder, options, selection)
  const fetchFile = (file: RemoteFile): Promise<string> => localFile(id, file, listing.commit, folder, options, logger)
  const readme = listing.files.find(({ path }) => path === "README.md")
  const chosen = await selectFiles(
    listing.files.map(({ path }) => path),
    selection,
    readme === undefined ? undefined : await readFile(await fetchFile(readme), "utf8"),
  )
  if (chosen.length === 0)
    throw noSuchSplit(
      id,
      options.revision,
      selection.split,
      listing.files.map(({ path }) => path),
    )
  const paths: string[] = []
  for (const path of chosen) {
    const file = listing.files.find((entry) => entry.path === path)
    if (file !== undefined) paths.push(await fetchFile(file))
  }
  return paths
}

function noSuchSplit(id: string, revision: string, split: string, files: readonly string[]): AtroposError {
  const splits = knownSplits(files)
  return new AtroposError(
    "dataset-missing",
    splits.length === 0
      ? `${id} (${revision}) has no data files that can be read (.jsonl, .json, .csv, .tsv, .parquet)`
      : `${id} (${revision}) has no split ${JSON.stringify(split)}; it has ${splits.join(", ")}`,
    { facts: { id, revision, splits } },
  )
}

/** The repository's files as the hub lists them now; without a network as it listed them last; else undefined. */
async function findListing(
  id: string,
  folder: string,
  options: ResolvedHubDatasetOptions,
  logger: Logger | undefined,
): Promise<Listing | undefined> {
  const kept = join(folder, "revisions", `${encodeURIComponent(options.revision)}.json`)
  const known = await readListing(kept)
  if (options.offline) return known
  try {
    const listing = await askListing(id, options)
    await writeWhole(kept, JSON.stringify(listing))
    return listing
  } catch (error) {
    options.signal?.throwIfAborted()
    const failure = hubFailure(error, id, options, folder)
    if (failure.facts["status"] === 404) throw failure
    if (known === undefined && !hasSharedCache(id, options)) throw failure
    logger?.warn("the hub did not answer: using what is in the cache", { id, problem: failure.message })
    return known
  }
}

async function askListing(id: string, options: ResolvedHubDatasetOptions): Promise<Listing> {
  const { datasetInfo, listFiles } = await import("@huggingface/hub")
  const { signal } = options
  const common = {
    hubUrl: options.endpoint,
    fetch: ((input: string | URL | Request, init?: RequestInit) =>
      options.fetch(input, signal === undefined ? init : { ...init, signal })) as typeof fetch,
    ...(options.accessToken === undefined ? {} : { accessToken: options.accessToken }),
  }
  const { sha } = await datasetInfo({ ...common, name: id, revision: options.revision, additionalFields: ["sha"] })
  const files: RemoteFile[] = []
  const repo = { type: "dataset" as const, name: id }
  for await (const entry of listFiles({ ...common, repo, recursive: true, revision: sha })) {
    if (entry.type === "file")
      files.push({ path: entry.path, size: entry.size, hash: entry.lfs?.oid ?? entry.oid ?? "" })
  }
  return { commit: sha, files }
}

async function readListing(path: string): Promise<Listing | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Listing
  } catch {
    // Not there, or damaged: then the hub is asked.
    return undefined
  }
}

/** The file in our cache, checked against its size and hash; downloaded when it is not there or has changed. */
async function localFile(
  id: string,
  file: RemoteFile,
  commit: string,
  folder: string,
  options: ResolvedHubDatasetOptions,
  logger: Logger | undefined,
): Promise<string> {
  const path = join(folder, "snapshots", commit, safePath(file.path))
  const state = await checkFile(path, file)
  if (state === "good") return path
  if (state === "changed") logger?.warn("a file in the cache has changed: downloading it again", { path })
  if (options.offline) {
    const shared = await sharedFile(id, file, commit, options)
    if (shared !== undefined) return shared
    throw new AtroposError(
      "hub-unavailable",
      `${file.path} of ${id} is ${state === "changed" ? "not what it was when it was downloaded" : "not in the cache"} ` +
        `(${path}) and downloads are switched off; put the file there, give the path of a local copy, or unset HF_HUB_OFFLINE`,
      { facts: { id, path } },
    )
  }
  const shared = await sharedFile(id, file, commit, options)
  if (shared !== undefined) return shared
  const url = `${options.endpoint}/datasets/${id}/resolve/${commit}/${file.path.split("/").map(encodeURIComponent).join("/")}`
  logger?.info("downloading a file of a data set", { id, file: file.path, bytes: file.size })
  try {
    await downloadFile({
      url,
      path,
      size: file.size,
      isWhole: async (downloaded) => (await checkFile(downloaded, file)) === "good",
      fetch: options.fetch,
      ...(options.accessToken === undefined ? {} : { accessToken: options.accessToken }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  } catch (error) {
    options.signal?.throwIfAborted()
    throw hubFailure(error, id, options, folder, file.path, path)
  }
  return path
}

/** A path from the hub must stay below its folder. */
function safePath(path: string): string {
  if (path.startsWith("/") || path.split("/").some((part) => part === ".." || part === "")) {
    throw new AtroposError("dataset-broken", `the hub lists a file with an unsafe path: ${JSON.stringify(path)}`)
  }
  return path
}

async function checkFile(path: string, file: RemoteFile): Promise<"good" | "missing" | "changed"> {
  const info = await stat(path).catch(() => undefined)
  if (info === undefined) return "missing"
  if (info.size !== file.size) return "changed"
  return (await hashMatches(path, file)) ? "good" : "changed"
}

async function hashMatches(path: string, file: RemoteFile): Promise<boolean> {
  let hash
  if (/^[0-9a-f]{64}$/.test(file.hash)) hash = createHash("sha256")
  else if (/^[0-9a-f]{40}$/.test(file.hash)) hash = createHash("sha1").update(`blob ${file.size}\0`)
  else return true
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array)
  return hash.digest("hex") === file.hash
}

function sharedFolder(id: string, options: ResolvedHubDatasetOptions): string {
  return join(options.sharedCacheFolder, `datasets--${id.replaceAll("/", "--")}`)
}

function hasSharedCache(id: string, options: ResolvedHubDatasetOptions): boolean {
  return existsSync(join(sharedFolder(id, options), "refs", options.revision))
}

async function sharedFile(
  id: string,
  file: RemoteFile,
  commit: string,
  options: ResolvedHubDatasetOptions,
): Promise<string | undefined> {
  const path = join(sharedFolder(id, options), "snapshots", commit, safePath(file.path))
  return (await checkFile(path, file)) === "good" ? path : undefined
}

/** Files of the Python tools' cache, chosen by what lies there. */
async function filesOfSharedCache(
  id: string,
  folder: string,
  options: ResolvedHubDatasetOptions,
  selection: { config: string | undefined; split: string },
): Promise<string[]> {
  const shared = sharedFolder(id, options)
  const commit = await readFile(join(shared, "refs", options.revision), "utf8").catch(() => undefined)
  if (commit === undefined) {
    throw new AtroposError(
      "hub-unavailable",
      `${id} is not in the cache (looked for ${folder} and ${shared}) and downloads are switched off; ` +
        "give the path of a local copy, or unset HF_HUB_OFFLINE",
      { facts: { id, path: folder } },
    )
  }
  const snapshot = join(shared, "snapshots", commit.trim())
  const entries = await readdir(snapshot, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(snapshot, join(entry.parentPath, entry.name)))
  const readme = files.includes("README.md") ? await readFile(join(snapshot, "README.md"), "utf8") : undefined
  const chosen = await selectFiles(files, selection, readme)
  if (chosen.length === 0) throw noSuchSplit(id, options.revision, selection.split, files)
  return chosen.map((file) => join(snapshot, file))
}

function hubFailure(
  error: unknown,
  id: string,
  options: ResolvedHubDatasetOptions,
  folder: string,
  file?: string,
  path?: string,
): AtroposError {
  if (isAtroposError(error) && error.code !== "hub-unavailable") return error
  const status = statusOf(error)
  const what = file === undefined ? `the data set ${id}` : `${file} of ${id}`
  const reason =
    status === 401 || status === 403
      ? "the hub refused access: accept the data set's terms there and set HF_TOKEN"
      : status === 404
        ? `the hub has no such data set or revision (${options.revision})`
        : `the hub did not answer as it should (${error instanceof Error ? (error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message) : String(error)})`
  return new AtroposError(
    "hub-unavailable",
    `${what} is not in the cache (looked for ${path ?? folder}) and could not be downloaded from ${options.endpoint}: ${reason}; ` +
      "a path of a local file or folder works without a network, HF_HUB_OFFLINE=1 with what is in the cache",
    {
      cause: error,
      facts: { id, path: path ?? folder, ...(status === undefined ? {} : { status }) },
      retryable: status === undefined || status >= 500,
    },
  )
}

function statusOf(error: unknown): number | undefined {
  if (isAtroposError(error)) {
    const { status } = error.facts
    return typeof status === "number" ? status : undefined
  }
  return typeof error === "object" && error !== null && "statusCode" in error && typeof error.statusCode === "number"
    ? error.statusCode
    : undefined
}

async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const partial = `${path}.${process.pid}.partial`
  await writeFile(partial, text)
  await rename(partial, path)
}
