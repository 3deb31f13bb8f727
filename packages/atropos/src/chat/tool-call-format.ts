// The most telling marks first: some stand in the templates of several families.
const marks: readonly (readonly [format: string | undefined, ...texts: string[]])[] = [
  // Formats without a parser here, whose templates hold another one's marks.
  [undefined, "]<]minimax[>["],
  [undefined, "<tool_calls>", "<end_of_sentence>"],
  ["harmony", "<|channel|>", "<|message|>"],
  ["minimax_m2", "<minimax:tool_call>"],
  ["seed_oss", "<seed:tool_call>"],
  ["deepseek_v32", "｜DSML｜"],
  ["deepseek_v3", "<｜tool▁call▁begin｜>", "```json"],
  ["deepseek_v31", "<｜tool▁call▁begin｜>"],
  ["kimi_k2", "<|tool_call_begin|>"],
  ["internlm", "<|action_start|>"],
  ["gemma4", "<|tool_call>"],
  ["glm45", "<arg_key>"],
  ["qwen3_coder", "<function=", "<parameter="],
  // JSON between function tags.
  [undefined, "<function="],
  ["mistral_v11", "[TOOL_CALLS]", "[ARGS]"],
  ["mistral", "[TOOL_CALLS]"],
  ["pythonic", "<|tool_call_start|>"],
  ["llama4_pythonic", "<|header_start|>", "[func_name1("],
  ["pythonic", "[func_name1("],
  ["llama3_json", "<|python_start|>", '"parameters"'],
  ["llama4_pythonic", "<|python_start|>"],
  ["llama3_json", "<|python_tag|>"],
  ["llama3_json", "<|start_header_id|>", '"parameters"'],
  ["phi4_mini", "functools"],
  ["granite", "<|tool_call|>"],
  ["jamba", "<tool_calls>"],
  ["olmo3", "<function_calls>"],
  ["hermes", "<tool_call>"],
]

/** The format in which a model writes calls, told by its chat template; undefined where that says nothing of calls. */
export function toolCallFormatOf(templateSource: string): string | undefined {
  return marks.find(([, ...texts]) => texts.every((text) => templateSource.includes(text)))?.[0]
}
