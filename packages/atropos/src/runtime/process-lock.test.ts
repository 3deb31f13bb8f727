import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { lockForProcess } from "./process-lock.ts"

it("a lock is held once, in this process and among others, and is free when its holder was killed", () => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-lock-"))
  const file = join(folder, "lock")
  const elsewhere = (then: string): string => {
    const program = `
      import { lockForProcess } from ${JSON.stringify(new URL("./process-lock.ts", import.meta.url).href)}
      console.log(lockForProcess(${JSON.stringify(file)}) === null ? "taken" : "free")
      ${then}`
    return spawnSync(process.execPath, ["--eval", program], { encoding: "utf8" }).stdout.trim()
  }
  expect(elsewhere('process.kill(process.pid, "SIGKILL")')).toBe("free")
  const lock = lockForProcess(file)
  expect(lock).not.toBeNull()
  expect(lockForProcess(file)).toBeNull()
  expect(elsewhere("")).toBe("taken")
  lock?.release()
  lock?.release()
  expect(elsewhere("")).toBe("free")
  rmSync(folder, { recursive: true })
})
