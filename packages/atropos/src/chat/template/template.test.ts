import { describe, expect, test } from "vitest"

import { JsonFloat, parseLosslessJson } from "../lossless-json.ts"
import { compileTemplate } from "./template.ts"
import type { TemplateInput } from "./values/convert.ts"

function render(template: string, variables: Record<string, TemplateInput> = {}): string {
  return compileTemplate(template).render(variables, { now: () => new Date(2026, 1, 8, 15, 4, 5) })
}

describe("values", () => {
  test.each([
    ["{{ true }} {{ none }} {{ [none, true, 1.0, 'a'] }}", "True None [None, True, 1.0, 'a']"],
    [
      "{{ 1 / 2 }} {{ 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 70 }}",
      "0.5 2.0 3 -4 2 1180591620717411303424",
    ],
    [
      "{{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1e300 * 1e10 }}",
      "1e+16 1000000000000000.0 0.0001 1e-05 inf",
    ],
    ["{{ 2.675 | round(2) }} {{ 0.5 | round }} {{ 1.5 | round }} {{ 25 | round(-1) }}", "2.67 0.0 2.0 20"],
    ["{{ 'a😀b'[1] }} {{ 'a😀b' | length }} {{ 'a😀b'[::-1] }}", "😀 3 b😀a"],
    ["{{ {1: 'x', 1.0: 'y', true: 'z'} }} {{ ('a',) }} {{ () }}", "{1: 'z'} ('a',) ()"],
    [`{{ "it's" }} {{ ["it's", 'a"b', "\\n\\x00é"] }}`, `it's ["it's", 'a"b', '\\n\\x00é']`],
    ["{{ dict.fromkeys('ab', 1) }} {{ dict(a=1) }}", "{'a': 1, 'b': 1} {'a': 1}"],
    ["{{ 12345678901234567890 + 1 }} {{ 0x1f }} {{ 1_000 }}", "12345678901234567891 31 1000"],
  ])("print as Python prints them: %s", (template, text) => {
    expect(render(template)).toBe(text)
  })

  test("keep the kind of a number and the order of keys from lossless JSON", () => {
    const value = parseLosslessJson('{"b": 1.0, "2": 1e-7, "1": 12345678901234567890, "a": -0.0}')
    expect(render("{{ v | tojson }} {{ v }}", { v: value })).toBe(
      `{"b": 1.0, "2": 1e-07, "1": 12345678901234567890, "a": -0.0} {'b': 1.0, '2': 1e-07, '1': 12345678901234567890, 'a': -0.0}`,
    )
    expect(render("{{ v }}", { v: new JsonFloat(3) })).toBe("3.0")
  })
})

describe("statements", () => {
  test("leave a loop's variables behind, and namespaces alone", () => {
    expect(render("{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}")).toBe("231")
    expect(
      render("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}"),
    ).toBe("4")
  })

  test("run a loop's else where no round reached its end", () => {
    expect(render("{% for i in [1, 2] %}{% continue %}{% else %}none{% endfor %}")).toBe("none")
  })

  test("hide a given variable that a block sets later", () => {
    expect(render("{% for i in [1] %}[{{ x }}]{% endfor %}{% set x = 2 %}{{ x }}", { x: 1 })).toBe("[]2")
    expect(render("{% if false %}{% set x = 2 %}{% endif %}{{ x }}", { x: 1 })).toBe("1")
  })

  test("give a macro its caller, its rest and its defaults", () => {
    const template = "{% macro m(a, b=a) %}{{ a }}{{ b }}{{ varargs }}{{ caller(1) }}{% endmacro %}"
    expect(render(`${template}{% call(x) m(1, 2, 3) %}<{{ x }}>{% endcall %}`)).toBe("12(3,)<1>")
  })

  test("cut white space around tags as trim_blocks and lstrip_blocks do", () => {
    expect(render("a\n  {% if true %}\n  b\n  {%+ endif %}\n {{- 1 }}\n")).toBe("a\n  b\n  1")
  })

  test("print blocks again through self", () => {
    expect(render("{% block b %}x{% endblock %}{{ self.b() }}")).toBe("xx")
  })
})

describe("refusals", () => {
  test("carry what the template raised and its line", () => {
    expect(() => render("\n\n{{ raise_exception('roles must alternate') }}")).toThrow(
      expect.objectContaining({
        code: "template-refused",
        message: expect.stringContaining("(line 3): roles must alternate"),
        facts: { kind: "TemplateError", line: 3 },
      }),
    )
  })

  test.each([
    "{{ x.y.z }}",
    "{{ 'a' + 1 }}",
    "{{ [].append(1) }}",
    "{{ x + 1 }}",
    "{{ x | tojson }}",
    "{{ ''.__class__() }}",
    "{% include 'a' %}",
    "{{ range(1000000) }}",
    "{{ 'a' in 1 }}",
    "{{ [1, 'a'] | sort }}",
  ])("come where Python refuses: %s", (template) => {
    expect(() => render(template)).toThrow(expect.objectContaining({ code: "template-refused" }))
  })

  test.each([
    "{% if %}",
    "{{ x",
    "{% for x in y %}",
    "{{ x | nosuch }}",
    "{% do x %}",
    "{% break %}",
    "{{ (1] }}",
    "{% set 1 = 2 %}",
  ])("come on compiling what Python does not compile: %s", (template) => {
    expect(() => compileTemplate(template)).toThrow(expect.objectContaining({ code: "bad-template" }))
  })

  test("never show the conversation", () => {
    expect(() => render("{{ m + 1 }}", { m: "secret words" })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    )
  })
})

describe("hostile templates", () => {
  const loop = (body: string): string =>
    `{% set n = namespace(t='ab', l=[1]) %}{% for i in range(99999) %}{% for j in range(99999) %}${body}{% endfor %}{% endfor %}`

  test.each([
    ["loops without end", loop("{{ j }}")],
    ["texts that double", loop("{% set n.t = n.t ~ n.t %}")],
    ["lists that double", loop("{% set n.l = n.l + n.l %}")],
    ["repetition", "{{ 'abc' * 1000000000 }}"],
    ["wide formats", "{{ '%1000000000d' % 1 }}"],
    ["wide format specs", "{{ '{:>1000000000}'.format(1) }}"],
    ["large powers", "{{ 9 ** 99999999 }}"],
    ["products that grow", loop("{% set n.l = 10 ** 9999 %}{% set n.t = (n.x or 1) * n.l %}{% set n.x = n.t %}")],
    ["padding", "{{ 'a'.ljust(1000000000) }}"],
    ["macros that call themselves", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"],
    ["lists of themselves, printed", loop("{% set n.l = [n.l, n.l] %}{% if j == 60 %}{{ n.l }}{% endif %}")],
    [
      "lists of themselves, compared",
      loop("{% set n.l = [n.l, n.l] %}{% set n.k = [n.k, n.k] %}{% if j == 60 %}{{ n.l == n.k }}{% endif %}"),
    ],
    ["deep brackets", `{{ ${"(".repeat(100_000)}1${")".repeat(100_000)} }}`],
  ])("are stopped: %s", (_name, template) => {
    const started = performance.now()
    expect(() => compileTemplate(template).render({}, { limits: { steps: 1_000_000, timeMs: 5000 } })).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^(template-refused|bad-template)$/) }),
    )
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})
