import { describe, expect, test } from "vitest"

import { compileTemplate } from "./template.ts"
import type { TemplateInput } from "./values/convert.ts"

function render(template: string, variables: Record<string, TemplateInput> = {}): string {
  return compileTemplate(template).render({ x: "<a & 'b'>", on: true, off: false, ...variables })
}
const escapedX = "&lt;a &amp; &#39;b&#39;&gt;"

describe("autoescape", () => {
  test.each([
    [
      "escapes what is printed, not the template's own text",
      "{% autoescape true %}<i>{{ x }}{% endautoescape %}{{ x }}",
      `<i>${escapedX}<a & 'b'>`,
    ],
    [
      "leaves HTML text alone",
      "{% autoescape true %}{{ '<i>' | safe }}{{ '<i>' | escape }}{% endautoescape %}",
      "<i>&lt;i&gt;",
    ],
    [
      "is switched by a variable",
      "{% autoescape on %}{{ x }}{% endautoescape %}{% autoescape off %}{{ x }}{% endautoescape %}",
      `${escapedX}<a & 'b'>`,
    ],
    [
      "writes constants as it was set when they were compiled",
      "{% autoescape on %}{{ '<' }}{{ x[0] }}{% endautoescape %}",
      "<&lt;",
    ],
    [
      "can be set inside itself",
      "{% autoescape true %}{% autoescape false %}{{ x[0] }}{% endautoescape %}{{ x[0] }}{% endautoescape %}",
      "<&lt;",
    ],
    [
      "keeps its variables to itself",
      "{% set y = 1 %}{% autoescape true %}{% set y = 2 %}{% endautoescape %}{{ y }}",
      "1",
    ],
    [
      "makes HTML text of what macros and blocks give",
      "{% autoescape true %}{% macro m() %}<i>{{ x[0] }}{% endmacro %}{{ m() }}{% set v %}<b>{% endset %}{{ v }}{% endautoescape %}",
      "<i>&lt;<b>",
    ],
    [
      "goes by the caller of a macro",
      "{% macro m() %}<i>{% endmacro %}{% autoescape true %}{{ m() is escaped }}{% endautoescape %}{{ m() is escaped }}",
      "TrueFalse",
    ],
    [
      "joins and replaces as HTML text where one part is",
      "{% autoescape true %}{{ ['<', '<i>' | safe] | join('&') }} {{ '<-' | replace('-', '<b>' | safe) }}{% endautoescape %}",
      "&lt;&amp;<i> &lt;<b>",
    ],
    [
      "lets the sum of texts be escaped as a whole",
      "{% autoescape true %}{{ '<i>' | safe ~ x[0] }}{{ x[0] + x[1] }}{% endautoescape %}",
      "<i>&lt;&lt;a",
    ],
  ])("%s", (_, template, text) => {
    expect(render(template)).toBe(text)
  })

  test("does not reach filters of constants, which Python runs when it compiles", () => {
    const template = "{% macro m() %}{{ ['<', '<' | safe] | join }}{{ [x[0], '<' | safe] | join }}{% endmacro %}"
    expect(render(`${template}{% autoescape true %}{{ m() }}{% endautoescape %}`)).toBe("<<&lt;<")
  })

  test("stays as it is set where a loop is left from inside, as in Python", () => {
    const template =
      "{% for i in [1] %}{% autoescape on %}{% break %}{% endautoescape %}{% endfor %}{{ [x[0], '<' | safe] | join }}"
    expect(render(template)).toBe("&lt;<")
  })
})

describe("HTML text", () => {
  test.each([
    ["('<i>%s %r</i>' | safe) % (x, '<')", `<i>${escapedX} &#39;&lt;&#39;</i>`],
    ["('<i>%d|%.1f</i>' | safe) % ('42', '1.5')", "<i>42|1.5</i>"],
    ["('{}|{:>3}|{}' | safe).format('<', '&', '<b>' | safe)", "&lt;|  &amp;|<b>"],
    ["('<i>' | safe).join(['a', '<'])", "a<i>&lt;"],
    ["('<i>' | safe).replace('i', '<')", "<&lt;>"],
    ["('<i>' | safe) ~ '<'", "<i><"],
    ["('<i>' | safe) + '<'", "<i>&lt;"],
    ["('<i>abcdef' | safe) | truncate(5, true, '<', 0)", "<i>a&lt;"],
    ["('a &amp; <!-- <b> --><i>b</i> < c' | safe).striptags()", "a & b < c"],
    ["('&lt;&#65;&#x42;&nosuch;' | safe).unescape()", "<AB&nosuch;"],
    ["('<i>' | safe) | title is escaped", "False"],
    ["('<i>' | safe) | last is escaped", "True"],
  ])("escapes what is put into it: %s", (expression, text) => {
    expect(render(`{{ ${expression} }}`)).toBe(text)
  })

  test("takes no specification where it is put into HTML text, and no letters for numbers", () => {
    for (const expression of ["('{:3}' | safe).format('<' | safe)", "('%d' | safe) % 'x'", "('%c' | safe) % 'x'"])
      expect(() => render(`{{ ${expression} }}`)).toThrow(expect.objectContaining({ code: "template-refused" }))
  })
})
