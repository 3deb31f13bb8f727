import { describe, expect, test } from "vitest"

import { ServerUnderTest } from "./server-under-test.ts"

describe("a server with a token", () => {
  const basic = (text: string) => ({ headers: { authorization: `Basic ${Buffer.from(text).toString("base64")}` } })

  test("answers who sends it as a bearer, or as the password of Basic", async () => {
    const server = await ServerUnderTest.start({ token: "s3cret:x" })
    expect((await server.get("/status", { headers: { authorization: "Bearer s3cret:x" } })).status).toBe(200)
    expect((await server.get("/status", basic("anybody:s3cret:x"))).status).toBe(200)
    expect((await server.get("/status", basic(":s3cret:x"))).status).toBe(200)
  })

  test("turns others away, on known and unknown paths, and tells them what it wants but not the token", async () => {
    const server = await ServerUnderTest.start({ token: "s3cret" })
    for (const path of ["/status", "/reset_data", "/batch", "/docs", "/metrics", "/nothing"]) {
      for (const authorization of [
        "",
        "Bearer",
        "Bearer wrong",
        "Basic",
        "Basic !!",
        "Digest s3cret",
        basic("s3cret:").headers.authorization,
      ]) {
        const { status, headers, text } = await server.get(path, { headers: { authorization } })
        expect([path, authorization, status]).toEqual([path, authorization, 401])
        expect(headers["www-authenticate"]).toContain("Basic")
        expect(text).not.toContain("s3cret")
      }
    }
  })

  test("lets health probes in without it", async () => {
    const server = await ServerUnderTest.start({ token: "s3cret" })
    expect((await server.get("/health")).json).toEqual({ status: "ok" })
  })

  test("is reset by who knows it", async () => {
    const server = await ServerUnderTest.start({ token: "s3cret" })
    expect((await server.get("/reset_data", { headers: { authorization: "Bearer s3cret" } })).status).toBe(200)
  })
})

describe("web pages", () => {
  test("of other origins get nothing, since a browser would call in the user's name", async () => {
    const server = await ServerUnderTest.start()
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      // Its name was made to point here.
      { "sec-fetch-site": "same-origin", host: "evil.example:8000" },
    ]) {
      const { status, headers: answered } = await server.get("/reset_data", { headers })
      expect([headers, status]).toEqual([headers, 403])
      expect(answered["access-control-allow-origin"]).toBeUndefined()
    }
  })

  test("that this server sent may call", async () => {
    const server = await ServerUnderTest.start()
    const origin = server.url
    expect((await server.get("/status", { headers: { origin, "sec-fetch-site": "same-origin" } })).status).toBe(200)
    expect((await server.get("/docs", { headers: { "sec-fetch-site": "none" } })).status).toBe(200)
  })

  test("of the origin that --cors names may call", async () => {
    const server = await ServerUnderTest.start({ cors: "https://my.example" })
    const { status, headers } = await server.get("/status", {
      headers: { origin: "https://my.example", "sec-fetch-site": "cross-site" },
    })
    expect([status, headers["access-control-allow-origin"]]).toEqual([200, "https://my.example"])
    expect((await server.get("/status", { headers: { origin: "https://other.example" } })).status).toBe(403)
    await server.push(1, { ballast: 2000 })
    const cached = await server.get("/latest_example", { headers: { origin: "https://my.example" } })
    expect(cached.headers["access-control-allow-origin"]).toBe("https://my.example")
    expect(cached.headers.vary).toContain("accept-encoding")
  })
})

test("a trailing slash is ignored", async () => {
  const server = await ServerUnderTest.start()
  expect((await server.get("/status/")).json).toMatchObject({ current_step: 0, queue_size: 0 })
  expect((await server.post("/batch/")).status).toBe(405)
})
