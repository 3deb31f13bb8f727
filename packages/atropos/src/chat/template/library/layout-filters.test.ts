import { describe, expect, test } from "vitest"

import { compileTemplate } from "../template.ts"

const render = (template: string): string => compileTemplate(template).render({})

describe("wordwrap", () => {
  test.each([
    ["breaks between words and drops blanks at line ends", "'one two  three' | wordwrap(7)", "one two\nthree"],
    ["wraps every line by itself", "'ab cd\nef' | wordwrap(4)", "ab\ncd\nef"],
    ["breaks words that are longer than a line", "'abcdefg' | wordwrap(3)", "abc\ndef\ng"],
    ["leaves them whole when told to", "'a bcdefg h' | wordwrap(3, false)", "a\nbcdefg\nh"],
    ["breaks behind hyphens", "'well-known fact' | wordwrap(6)", "well-\nknown\nfact"],
    ["does not when told so", "'well-known' | wordwrap(6, true, '|', false)", "well-k|nown"],
    ["counts characters, not units", "'😀😀😀' | wordwrap(2)", "😀😀\n😀"],
    ["joins lines as HTML text", "'a <' | wordwrap(1, wrapstring='<br>' | safe)", "a<br>&lt;"],
  ])("%s", (_, expression, text) => {
    expect(render(`{{ ${expression} }}`)).toBe(text)
  })

  test("refuses lines without width", () => {
    expect(() => render("{{ 'a' | wordwrap(0) }}")).toThrow(expect.objectContaining({ code: "template-refused" }))
  })
})

describe("pprint", () => {
  test.each([
    ["short values in one line, keys in order", "{'b': 1, 'a': [none, 1.0]} | pprint", "{'a': [None, 1.0], 'b': 1}"],
    [
      "long ones with an element a line",
      "['x' * 40, 'y' * 40] | pprint",
      `['${"x".repeat(40)}',\n '${"y".repeat(40)}']`,
    ],
    [
      "nested ones below their key",
      "{'key': ['x' * 40, 'y' * 40]} | pprint",
      `{'key': ['${"x".repeat(40)}',\n         '${"y".repeat(40)}']}`,
    ],
    ["long texts as several literals", "('word ' * 20) | pprint", `('${"word ".repeat(15)}'\n '${"word ".repeat(5)}')`],
    ["unlike keys by the names of their types", "{'a': 1, 2: 3, none: 4} | pprint", "{None: 4, 2: 3, 'a': 1}"],
  ])("prints %s", (_, expression, text) => {
    expect(render(`{{ ${expression} }}`)).toBe(text)
  })
})

describe("urlize", () => {
  test.each([
    ["see http://a.bc/d.", "", 'see <a href="http://a.bc/d" rel="noopener">http://a.bc/d</a>.'],
    ["(www.a.org)", "", '(<a href="https://www.a.org" rel="noopener">www.a.org</a>)'],
    ["http://a.bc/x_(y)", "", '<a href="http://a.bc/x_(y)" rel="noopener">http://a.bc/x_(y)</a>'],
    ["me@a.bc <b>", "", '<a href="mailto:me@a.bc">me@a.bc</a> &lt;b&gt;'],
    [
      "http://abc.de/fgh",
      '(9, true, "_blank")',
      '<a href="http://abc.de/fgh" rel="nofollow noopener" target="_blank">http://ab...</a>',
    ],
    ["tel:1 a", '(extra_schemes=["tel:"])', '<a href="tel:1" rel="noopener">tel:1</a> a'],
    ["a:b @c d@", "", "a:b @c d@"],
  ])("links %s", (text, args, html) => {
    expect(render(`{{ ${JSON.stringify(text)} | urlize${args} }}`)).toBe(html)
  })
})

test.each([
  "{{ ('a@' * 1000000) | urlize }}",
  "{{ ('a' * 3000000) | wordwrap(1) }}",
  "{{ ('(' * 1000000) | urlize }}",
  "{% set ns = namespace(v=[1]) %}{% for i in range(300) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v | pprint }}",
])("a text that would take too long is refused at once: %s", (template) => {
  expect(() => render(template)).toThrow(expect.objectContaining({ code: "template-refused" }))
})

test.each(["{{ [1] | random }}", "{{ lipsum() }}"])("what is random is refused: %s", (template) => {
  expect(() => render(template)).toThrow(
    expect.objectContaining({ message: expect.stringContaining("a prompt has to be the same each time") }),
  )
})

test.each(["{{ '{}{0}'.format(1) }}", "{{ '{0}{}'.format(1) }}", "{% filter length %}a{% endfilter %}"])(
  "is refused as in Python: %s",
  (template) => {
    expect(() => render(template)).toThrow(expect.objectContaining({ code: "template-refused" }))
  },
)
