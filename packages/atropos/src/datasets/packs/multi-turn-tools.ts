import type { TaskPack } from "./pack.ts"
import { drawToolTasks, toolCallText, toolSystemText, type ToolTask } from "./tools.ts"

interface Turn {
  from: "system" | "human" | "gpt" | "tool"
  value: string
}

function call(task: ToolTask): Turn {
  return { from: "gpt", value: `<think>\nThis needs ${task.schema.name}.\n</think>\n${toolCallText(task)}` }
}

function response(task: ToolTask): Turn {
  const content = JSON.stringify({ name: task.schema.name, content: task.response })
  return { from: "tool", value: `<tool_response>\n${content}\n</tool_response>` }
}

function summary(tasks: readonly ToolTask[]): Turn {
  return {
    from: "gpt",
    value: `<think>\nI have what I need.\n</think>\n${tasks.map((task) => task.summary).join(" ")}`,
  }
}

export const multiTurnToolsPack: TaskPack = {
  name: "multi_turn_tools",
  description: "conversations with several calls: with the user in between, in a row, one only, or none that fits",
  columns: ["conversations"],
  generate(random, index) {
    const kind = random.pick(["multiturn", "multistep", "single", "relevance"] as const)
    const [first, second, unused] = drawToolTasks(random, 3)
    if (first === undefined || second === undefined || unused === undefined) throw new RangeError("too few tool tasks")
    const offered = kind === "relevance" ? [second, unused] : [first, second, unused]
    const turns: Turn[] = [
      { from: "system", value: toolSystemText(random.shuffle(offered).map((task) => task.schema)) },
    ]
    switch (kind) {
      case "multiturn":
        turns.push({ from: "human", value: first.request }, call(first), response(first), summary([first]))
        turns.push({ from: "human", value: second.request }, call(second), response(second), summary([second]))
        break
      case "multistep":
        turns.push({ from: "human", value: `${first.request} And then: ${second.request}` })
        turns.push(call(first), response(first), call(second), response(second), summary([first, second]))
        break
      case "single":
        turns.push({ from: "human", value: first.request }, call(first), response(first), summary([first]))
        break
      case "relevance":
        turns.push({ from: "human", value: first.request })
        turns.push({
          from: "gpt",
          value:
            "<think>\nNone of the functions does this.\n</think>\nSorry, none of the functions I have fits this request.",
        })
        break
    }
    return { id: `builtin/multi_turn_tools/${index}`, kind, conversations: turns }
  },
}
