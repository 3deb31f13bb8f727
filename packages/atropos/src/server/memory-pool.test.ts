import { expect, test } from "vitest"
import { MemoryPool } from "./memory-pool.ts"

test("memory that was given back is used again for as many bytes, or for fewer", () => {
  const pool = new MemoryPool()
  const first = pool.take(20_000)
  expect(first.byteLength).toBe(20_480)
  pool.give(first)
  expect(pool.take(17_000)).toBe(first)
})

test("wastes at most a quarter of what is taken", () => {
  const pool = new MemoryPool()
  for (let bytes = 4096; bytes < 1e6; bytes += 997) {
    const { byteLength } = pool.take(bytes)
    expect(byteLength).toBeGreaterThanOrEqual(bytes)
    expect(byteLength).toBeLessThanOrEqual(bytes * 1.25)
  }
})

test("lets go of what is too much, too large or of elsewhere", () => {
  const pool = new MemoryPool(1 << 20)
  const large = pool.take(1 << 21)
  pool.give(large)
  expect(pool.take(1 << 21)).not.toBe(large)
  const foreign = new ArrayBuffer(32_768)
  pool.give(foreign)
  expect(pool.take(32_768)).not.toBe(foreign)
  const huge = pool.take(20_000_000)
  expect(huge.byteLength).toBe(20_000_000)
  expect(huge).not.toBeInstanceOf(SharedArrayBuffer)
})
