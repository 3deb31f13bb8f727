import type { RawCommand } from "./command.ts"
import { environmentCommand } from "./environment/environment-commands.ts"

export const serveCommand: RawCommand = environmentCommand(
  "serve",
  "Run an environment: rollouts, scored groups to the trajectory server",
)
