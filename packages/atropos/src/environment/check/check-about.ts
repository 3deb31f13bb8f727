import type { z } from "zod"

import { environmentConfig } from "../config/environment-config.ts"
import type { EnvironmentAbout } from "../environment-class.ts"
import type { CheckResult } from "./check-environment.ts"
import { counted } from "../../runtime/counted.ts"

/** What can be said of an environment without running it. */
export function checkAbout({ name, config = environmentConfig }: EnvironmentAbout): CheckResult[] {
  const own = Object.entries(config.shape as Record<string, z.ZodType>).filter(
    ([field]) => !(field in environmentConfig.shape),
  )
  const silent = own.filter(([, field]) => field.description === undefined).map(([field]) => field)
  const bare = own.filter(([, field]) => !field.safeParse(undefined).success).map(([field]) => field)
  const faults = [
    ...(silent.length === 0 ? [] : [`without a description: ${silent.join(", ")}`]),
    ...(bare.length === 0 ? [] : [`without a default: ${bare.join(", ")}`]),
  ]
  return [
    {
      name: "the name is snake_case",
      status: /^[a-z][a-z0-9_]*$/.test(name) ? "passed" : "failed",
      detail: JSON.stringify(name),
    },
    {
      name: "its configuration is documented",
      status: faults.length === 0 ? "passed" : "failed",
      detail: faults.length === 0 ? `${counted(own.length, "field")} of its own` : faults.join("; "),
    },
  ]
}
