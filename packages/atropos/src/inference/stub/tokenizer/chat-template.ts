/**
 * The model stub's chat template: a turn is `<|im_start|>role⏎content<|im_end|>⏎`. Functions are listed after the
 * system text, calls are JSON between `<tool_call>` tags, and what a tool says is a turn of its own.
 */
export const stubChatTemplate: string = `{%- macro text(content) -%}
{%- if content is string -%}{{- content -}}
{%- elif content -%}{%- for part in content -%}{{- part.text if part.type == 'text' else '[' + part.type + ']' -}}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- set given = messages and messages[0].role == 'system' -%}
{%- if tools -%}
{{- '<|im_start|>system\\n' -}}
{%- if given -%}{{- text(messages[0].content) + '\\n\\n' -}}{%- endif -%}
{{- 'Functions you may call:\\n' -}}
{%- for tool in tools -%}{{- tool | tojson + '\\n' -}}{%- endfor -%}
{{- 'To call one, write <tool_call>{"name": its name, "arguments": its arguments}</tool_call>.<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if not (tools and given and loop.first) -%}
{{- '<|im_start|>' + message.role + '\\n' + text(message.content) -}}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
{{- '\\n' if message.content or not loop.first -}}
{{- '<tool_call>\\n{"name": ' + function.name | tojson + ', "arguments": ' -}}
{{- function.arguments if function.arguments is string else function.arguments | tojson -}}
{{- '}\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
`
