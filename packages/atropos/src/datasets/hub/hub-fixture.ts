import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A request as the hub saw it. */
export interface HubRequest {
  path: string
  range: string | undefined
  authorization: string | undefined
}

/** A hub on 127.0.0.1 with the routes that data sets need: information, file trees in pages, files with ranges. */
export interface HubFixture {
  endpoint: string
  requests: HubRequest[]
  /** Files by repository, revision and path. Replacing one is a new commit. */
  put(repository: string, path: string, content: string | Uint8Array, revision?: string): void
  /** The next so many downloads of files end after half of what was asked for. */
  cutDownloads(count: number): void
  /** The next so many downloads give other bytes than were announced. */
  garbleDownloads(count: number): void
  /** Answers everything with this status from now on; undefined ends it. */
  fail(status: number | undefined): void
  /** Only requests with this token are answered. */
  requireToken(token: string): void
  close(): Promise<void>
}

export async function openHub(): Promise<HubFixture> {
  const repositories = new Map<string, Map<string, Buffer>>()
  const requests: HubRequest[] = []
  let cuts = 0
  let garbled = 0
  let status: number | undefined
  let token: string | undefined

  const filesOf = (repository: string, revision: string): Map<string, Buffer> | undefined => {
    const exact = repositories.get(`${repository}@${revision}`)
    if (exact !== undefined) return exact
    for (const [key, files] of repositories) {
      if (key.startsWith(`${repository}@`) && commitOf(files) === revision) return files
    }
    return undefined
  }

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "/", "http://hub")
    const { authorization, range } = request.headers
    requests.push({ path: url.pathname, range, authorization })
    if (status !== undefined) return end(response, status, "{}")
    if (token !== undefined && authorization !== `Bearer ${token}`) return end(response, 401, '{"error":"Gated"}')
    const info = /^\/api\/datasets\/(.+)\/revision\/([^/]+)$/.exec(url.pathname)
    const tree = /^\/api\/datasets\/(.+)\/tree\/([^/]+)$/.exec(url.pathname)
    const file = /^\/datasets\/(.+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname)
    const [, repository = "", revision = "", path = ""] = (info ?? tree ?? file ?? []).map(decodeURIComponent)
    const files = filesOf(repository, revision)
    if (files === undefined) return end(response, 404, '{"error":"Repository not found"}')
    if (info !== null) {
      return end(
        response,
        200,
        JSON.stringify({ _id: "1", id: repository, sha: commitOf(files), lastModified: "2026-01-01T00:00:00Z" }),
      )
    }
    if (tree !== null) return sendTree(url, files, response)
    const content = files.get(path)
    if (content === undefined) return end(response, 404, '{"error":"Entry not found"}')
    sendFile(content, range, response)
  }

  const sendFile = (content: Buffer, range: string | undefined, response: ServerResponse): void => {
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0)
    if (start >= content.length && start > 0) return end(response, 416, "")
    let body = content.subarray(start)
    if (garbled > 0) {
      garbled--
      body = Buffer.alloc(body.length, "#")
    }
    response.writeHead(start > 0 ? 206 : 200, { "content-length": body.length })
    if (cuts > 0) {
      cuts--
      response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.destroy())
    } else response.end(body)
  }

  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const endpoint = `http://127.0.0.1:${port}`

  /** Two entries a page, so that paging is used. */
  function sendTree(url: URL, files: ReadonlyMap<string, Buffer>, response: ServerResponse): void {
    const entries = [...files].map(([path, content]) => ({
      type: "file",
      path,
      size: content.length,
      ...(path.endsWith(".parquet")
        ? {
            oid: "0".repeat(40),
            lfs: { oid: createHash("sha256").update(content).digest("hex"), size: content.length },
          }
        : { oid: createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex") }),
    }))
    const page = Number(url.searchParams.get("page") ?? 0)
    const next = new URL(url.pathname + url.search, endpoint)
    next.searchParams.set("page", String(page + 1))
    if (entries.length > (page + 1) * 2) response.setHeader("link", `<${next.href}>; rel="next"`)
    end(response, 200, JSON.stringify(entries.slice(page * 2, page * 2 + 2)))
  }

  return {
    endpoint,
    requests,
    put(repository, path, content, revision = "main") {
      const key = `${repository}@${revision}`
      const files = repositories.get(key) ?? new Map<string, Buffer>()
      files.set(path, Buffer.from(content))
      repositories.set(key, files)
    },
    cutDownloads: (count) => (cuts = count),
    garbleDownloads: (count) => (garbled = count),
    fail: (code) => (status = code),
    requireToken: (wanted) => (token = wanted),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** A commit's name is made of its content. */
function commitOf(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash("sha1")
  for (const [path, content] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) hash.update(path).update(content)
  return hash.digest("hex")
}

function end(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body)
}
