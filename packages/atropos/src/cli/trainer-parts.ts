import type { z } from "zod"

import { AtroposError } from "../runtime/errors.ts"
import type { Logger } from "../runtime/logger.ts"
import { importTrainer } from "./workspace-parts.ts"

// What the commands use of the trainer workspace. The library does not see its types: it is built by itself and
// loaded only when one of these commands runs.

/** `packages/trainer/src/policy/serve-policy.ts` */
export interface PolicyModule {
  policySettings: z.ZodObject
  servePolicy: (settings: object, logger: Logger) => Promise<{ address: string; close(): Promise<void> }>
}

/** `packages/trainer/src/grpo.ts` */
export interface GrpoModule {
  grpoSettings: z.ZodObject
  trainGrpo: (
    settings: object,
    options: {
      logger: Logger
      signal: AbortSignal
      onStep: (step: number, metrics: Readonly<Record<string, number>>) => void
    },
  ) => Promise<void>
}

export const loadPolicyModule = (): Promise<PolicyModule> =>
  load("policy/serve-policy", (module): module is PolicyModule => "servePolicy" in module)

export const loadGrpoModule = (): Promise<GrpoModule> =>
  load("grpo", (module): module is GrpoModule => "trainGrpo" in module)

async function load<Module extends object>(path: string, isModule: (module: object) => module is Module) {
  const module = await importTrainer(path).catch((cause: unknown) => {
    if (isMissing(cause, "@jax-js/jax")) {
      throw new AtroposError(
        "missing-dependency",
        "the embedded policy and the trainer compute with @jax-js/jax, which is not installed: npm install @jax-js/jax",
        { cause },
      )
    }
    throw cause
  })
  if (!isModule(module)) throw new TypeError(`the trainer's ${path} does not export what the command needs`)
  return module
}

function isMissing(error: unknown, dependency: string): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ERR_MODULE_NOT_FOUND" &&
    error.message.includes(`'${dependency}'`)
  )
}
