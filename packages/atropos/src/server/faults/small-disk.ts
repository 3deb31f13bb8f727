import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A disk that can be filled up. */
export interface SmallDisk {
  path: string
  /** Leaves free no more than so many MiB, or frees all that was taken so. */
  fill(freeMegabytes: number | null): void
  remove(): void
}

const megabyte = 1024 * 1024

/** Mounts a file system of its own. Null, with a loud line, where that is not permitted. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), "atropos-small-disk-"))
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], { stdio: "ignore" })
  } catch {
    rmSync(path, { recursive: true })
    process.stderr.write("SKIPPED: tests on a full disk; to mount a small one takes root on Linux\n")
    return null
  }
  const ballast = join(path, "ballast")
  return {
    path,
    fill(freeMegabytes) {
      rmSync(ballast, { force: true })
      if (freeMegabytes === null) return
      const output = execFileSync("df", ["--output=avail", "--block-size=1", path], { encoding: "utf8" })
      const free = Number(output.trim().split("\n").at(-1))
      writeFileSync(ballast, Buffer.alloc(Math.max(0, free - freeMegabytes * megabyte)))
    },
    remove() {
      execFileSync("umount", [path])
      rmSync(path, { recursive: true })
    },
  }
}
