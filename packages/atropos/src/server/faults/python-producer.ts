import { request } from "node:http"
import { setTimeout as delay } from "node:timers/promises"

/**
 * Pushes as a Python environment does: a connection for each attempt, no key, the same bytes up to three times when
 * an answer does not come or is a 5xx, with random waits. Whether the server said that it has the group.
 */
export async function pushLikePython(url: string, group: unknown): Promise<boolean> {
  const body = JSON.stringify(group)
  for (let attempt = 1; ; attempt++) {
    const status = await post(`${url}/scored_data`, body).catch(() => 599)
    if (status < 500) return status === 200
    if (attempt === 3) return false
    await delay(Math.random() * attempt * 1000)
  }
}

function post(url: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    const call = request(url, { method: "POST", headers, agent: false }, (response) => {
      response.on("end", () => resolve(response.statusCode ?? 599)).on("error", reject)
      response.resume()
    })
    call.on("error", reject).end(body)
  })
}
