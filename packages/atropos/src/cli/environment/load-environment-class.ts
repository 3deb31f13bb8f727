import type { AnyEnvironmentClass } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { resolveEnvironmentModule } from "../workspace-parts.ts"

/** Imports the environment that a command line names. */
export async function loadEnvironmentClass(nameOrPath: string, workingDirectory: string): Promise<AnyEnvironmentClass> {
  const url = resolveEnvironmentModule(nameOrPath, workingDirectory)
  const module = (await import(url.href)) as Record<string, unknown>
  const found = [module["default"], ...Object.values(module)].find(isEnvironmentClass)
  if (found === undefined) {
    throw new AtroposError(
      "bad-option",
      `${url.pathname} exports no environment; export default the result of defineEnvironment, or a class with a static about`,
    )
  }
  return found
}

// By shape: the module may have another copy of the library.
function isEnvironmentClass(value: unknown): value is AnyEnvironmentClass {
  if (typeof value !== "function" || !("about" in value)) return false
  const { about } = value
  return typeof about === "object" && about !== null && "name" in about && typeof about.name === "string"
}
