import { execFile } from "node:child_process"
import { promisify } from "node:util"

import { expect, test } from "vitest"

import { commandFile } from "./quickstart/command-file.ts"

const run = promisify(execFile)

/** Makes `@jax-js/jax` look as if it had not been installed. */
const withoutJax = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module"
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== "@jax-js/jax") return next(specifier, context)
      const error = new Error("Cannot find package '@jax-js/jax' imported from " + context.parentURL)
      error.code = "ERR_MODULE_NOT_FOUND"
      throw error
    },
  })
`)}`

test.each(["policy", "grpo"])("%s says what to install when the numeric library is missing", async (command) => {
  const failure: { code: number; stderr: string } = await run(process.execPath, [
    "--import",
    withoutJax,
    commandFile(),
    command,
  ]).then(
    () => ({ code: 0, stderr: "" }),
    (error: { code: number; stderr: string }) => error,
  )
  expect(failure.code).toBe(1)
  expect(failure.stderr).toContain("npm install @jax-js/jax")
  expect(failure.stderr.split("\n")).toHaveLength(2)
})
