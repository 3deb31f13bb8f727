// Random templates: mostly valid, over a fixed context, with what chat templates use and what they might.

import { filterNames, kinds, makers, wild, words, type Kind } from "./vocabulary.ts"

/** A small seeded generator (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export class RandomTemplate {
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#random() * items.length)]
    if (item === undefined) throw new Error("nothing to pick from")
    return item
  }

  expression(depth: number, kind: Kind = "any"): string {
    const pattern =
      this.#random() < 0.03
        ? this.#pick(wild)
        : this.#pick(makers[kind === "any" || this.#random() < 0.02 ? this.#pick(kinds) : kind])
    if (depth <= 0 && pattern.includes("$")) return this.expression(depth, kind)
    return pattern.replace(/\$(\w+)/g, (_, hole: string) => {
      if (hole === "word") return this.#pick(words)
      if (hole === "filter") return this.#pick(filterNames)
      const inner = this.expression(depth - 1, hole as Kind)
      return /^[\w.]+$/.test(inner) ? inner : `(${inner})`
    })
  }

  #blank(): string {
    return this.#pick(["", "", " ", "\n", "  \n  ", "x", "\n\n", "\t"])
  }

  #open(): string {
    return this.#pick(["{%", "{%", "{%-", "{%+"])
  }

  #close(): string {
    return this.#pick(["%}", "%}", "-%}", "+%}"])
  }

  #tag(content: string): string {
    return `${this.#open()} ${content} ${this.#close()}`
  }

  statement(depth: number, inLoop: boolean): string {
    if (depth <= 0 || this.#random() < 0.35)
      return `${this.#pick(["{{", "{{-"])} ${this.expression(2)} ${this.#pick(["}}", "-}}"])}${this.#blank()}`
    const body = (loop = inLoop): string => {
      let text = this.#blank()
      for (let i = 0; i < 1 + this.#random() * 2; i += 1) text += this.statement(depth - 1, loop)
      return text
    }
    switch (Math.floor(this.#random() * 13)) {
      case 0:
      case 1:
        return this.#tag(`if ${this.expression(2, "truth")}`) + body() + this.#tag("else") + body() + this.#tag("endif")
      case 2:
      case 3: {
        const target = this.#pick(["i", "i", "i", "k, v", "n"])
        const filter = this.#pick(["", "", ` if ${this.expression(1, "truth")}`, " if loop is defined"])
        const source = this.#pick([
          "l",
          "m",
          "messages",
          "d.items()",
          "d | items",
          "range(3)",
          "missing",
          "s",
          this.expression(1, "list"),
        ])
        const look = this.#pick([
          "{{ loop.index }}",
          "{{ loop.last }}{{ loop.first }}",
          "{{ loop.length }}",
          "{{ loop.nextitem }}",
          "{{ loop.previtem is defined }}",
          "{{ loop.cycle('a', 'b') }}",
          "{{ loop.changed(i) }}",
          "{{ loop.revindex0 }}",
          "",
        ])
        const otherwise = this.#random() < 0.2 ? this.#tag("else") + body() : ""
        return this.#tag(`for ${target} in ${source}${filter}`) + look + body(true) + otherwise + this.#tag("endfor")
      }
      case 4:
        return this.#tag(`set ${this.#pick(["n", "v", "q", "q"])} = ${this.expression(2)}`)
      case 5:
        return `${this.#tag("set v")}${body()}${this.#tag("endset")}{{ v }}`
      case 6:
        return `${this.#tag("set ns = namespace(c=0, t='')")}${this.#tag("for i in l")}${this.#tag(`set ns.c = ns.c + ${this.#pick(["i", "1", "loop.index"])}`)}${body(true)}${this.#tag("endfor")}{{ ns.c }}`
      case 7:
        return `${this.#tag("macro f(p, q='d')")}[{{ p }}{{ q }}${this.#pick(["", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}"])}]${this.#tag("endmacro")}{{ f(${this.#pick(["1", "p=2", "1, 2", "1, 2, 3", "", "1, z=3", "n", "q=1"])}) }}`
      case 8:
        return this.#tag(`with v = ${this.expression(1)}`) + body() + this.#tag("endwith")
      case 9:
        return (
          this.#tag(
            `filter ${this.#pick(["upper", "trim", "replace('a', 'b') | lower", "indent(2)", "escape", "safe", "length"])}`,
          ) +
          body() +
          this.#tag("endfilter")
        )
      case 10:
        return (
          this.#tag(
            `autoescape ${this.#pick(["true", "true", "false", "b", "o", "missing", "$", "l"]).replace("$", () => this.expression(1))}`,
          ) +
          body() +
          this.#tag("endautoescape")
        )
      case 11:
        return inLoop
          ? this.#tag(`if ${this.expression(1, "truth")}`) +
              this.#tag(this.#pick(["break", "continue"])) +
              this.#tag("endif")
          : this.#tag("generation") + body(false) + this.#tag("endgeneration")
      default:
        return (
          this.#pick([
            "{#  note #}",
            "{#- note -#}",
            "{% raw %} {{ x }} {% endraw %}",
            "{%- raw -%} {% if %} {%- endraw -%}",
          ]) + this.#blank()
        )
    }
  }

  template(): string {
    if (this.#random() < 0.5) return `{{ ${this.expression(2)} }}`
    let text = this.#blank()
    for (let i = 0; i < 1 + this.#random() * 3; i += 1) text += this.statement(3, false) + this.#blank()
    return text
  }
}
