import { AtroposError } from "../../runtime/errors.ts"
import { fundamentalsPack } from "./fundamentals.ts"
import { gsm8kPack } from "./gsm8k.ts"
import { mathPack } from "./math.ts"
import { multiTurnToolsPack } from "./multi-turn-tools.ts"
import type { TaskPack } from "./pack.ts"
import { preferencesPack } from "./preferences.ts"
import { textsPack } from "./texts.ts"
import { toolCallingPack } from "./tool-calling.ts"

const all = [
  gsm8kPack,
  mathPack,
  toolCallingPack,
  multiTurnToolsPack,
  fundamentalsPack,
  preferencesPack,
  textsPack,
] as const satisfies readonly TaskPack[]

/** The built-in task packs by name. */
export const taskPacks: Readonly<Record<string, TaskPack>> = Object.fromEntries(all.map((pack) => [pack.name, pack]))

export function findPack(name: string): TaskPack {
  const pack = taskPacks[name]
  if (pack !== undefined) return pack
  throw new AtroposError(
    "dataset-missing",
    `there is no built-in pack ${JSON.stringify(name)}; there are ${Object.keys(taskPacks).join(", ")}`,
  )
}
