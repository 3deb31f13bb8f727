import type { z } from "zod"

import type { EnvironmentConfig } from "./config/environment-config.ts"
import type { Environment, EnvironmentContext } from "./environment.ts"

/** One inference server as `--openai.*` and YAML describe it, in camelCase or snake_case. */
export type ServerDefaults = Readonly<Record<string, string | number | boolean | null>>

/** What is said of an environment besides its code: `static about = { name: "gsm8k" }`. */
export interface EnvironmentAbout {
  /** In snake_case; also the default of `wandb_name`. */
  name: string
  description?: string
  /** `environmentConfig`, or that extended by fields of its own. */
  config?: z.ZodObject
  /** Its own defaults for any field of the configuration. */
  defaults?: Readonly<Record<string, unknown>>
  /** Its default inference server, or several. */
  servers?: ServerDefaults | readonly ServerDefaults[]
  /** Inference servers beside the policy, with their defaults: `{ judge: { modelName: "…" } }` makes `--judge.*`. */
  helpers?: Readonly<Record<string, ServerDefaults | readonly ServerDefaults[]>>
}

/** A class that `serve`, `process` and `evaluate` can make environments of. */
export interface EnvironmentClass<Item = unknown, Config extends EnvironmentConfig = EnvironmentConfig> {
  new (context: EnvironmentContext<Config>): Environment<Item, Config>
  readonly about: EnvironmentAbout
}

/** The class of any environment, whatever its items and configuration are. */
export interface AnyEnvironmentClass {
  new (context: EnvironmentContext<never>): Environment
  readonly about: EnvironmentAbout
}

/** Makes an environment; `context.config` has been read with the schema of its own `about`. */
export function createEnvironment(environmentClass: AnyEnvironmentClass, context: EnvironmentContext): Environment {
  // Which the types of classes that are known only when they run can not say.
  return new environmentClass(context as EnvironmentContext<never>)
}
