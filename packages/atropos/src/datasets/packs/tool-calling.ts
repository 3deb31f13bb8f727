import type { TaskPack } from "./pack.ts"
import { drawToolTasks, toolCallText, toolSystemText } from "./tools.ts"

export const toolCallingPack: TaskPack = {
  name: "tool_calling",
  description: "requests that need one or two function calls, among functions that are not needed",
  columns: ["conversations"],
  generate(random, index) {
    const tasks = drawToolTasks(random, 4)
    const needed = tasks.slice(0, random.integer(1, 3) === 1 ? 2 : 1)
    const schemas = random.shuffle(tasks).map((task) => task.schema)
    return {
      id: `builtin/tool_calling/${index}`,
      conversations: [
        { from: "system", value: toolSystemText(schemas) },
        { from: "human", value: needed.map((task) => task.request).join(" ") },
        { from: "gpt", value: needed.map(toolCallText).join("\n") },
      ],
    }
  },
}
