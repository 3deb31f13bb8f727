// Random templates: mostly valid, over a fixed context, with what chat templates use and what they might.

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

export const context = String.raw`{
  "s": "  Hello, World \n", "t": "<think>\nwhy\n</think>\n\nso é😀", "u": "a😀ßé", "e": "", "num": "42", "w": "one two  three",
  "n": 7, "z": 0, "neg": -3, "big": 12345678901234567890, "f": 2.5, "g": 3.0, "tiny": 1e-7, "b": true, "o": false, "x": null,
  "l": [3, 1, 2], "m": ["b", "A", "c"], "mixed": [1, "1", 1.0, null, true, [1, 2]], "empty": [],
  "d": {"b": 1, "a": [1, 2.5, null, true, "é<&>'\" "], "10": "ten", "2": {"k": "v"}}, "ed": {},
  "messages": [
    {"role": "system", "content": "Be brief.\n"},
    {"role": "user", "content": "q?"},
    {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"k": 1, "l": [true, null], "x": 1.0}}}]},
    {"role": "tool", "content": "{\"t\": 3.0}", "name": "f"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nanswer", "reasoning_content": "hm"}
  ]
}`

type Kind = "text" | "number" | "list" | "dict" | "truth" | "any"

// By kind: what gives it, with `$text`, `$number`, … for operands. Mostly right by type, so that most templates render.
const makers: Record<Exclude<Kind, "any">, readonly string[]> = {
  text: [
    "s",
    "t",
    "u",
    "e",
    "num",
    "w",
    "''",
    "'a'",
    "'\\n'",
    "' '",
    "'é'",
    "'<think>'",
    "'</think>'",
    "', '",
    "'abc'",
    '"it\'s"',
    "'1'",
    "'role'",
    "'😀'",
    "'x y'",
    "'\\u00e9\\t'",
    "'-'",
    "'<b>&\"'",
    "messages[1].role",
    "messages[4].content",
    "d['a'][4]",
    "missing",
    "$text ~ $any",
    "$text + $text",
    "$text * 2",
    "$any ~ $any",
    "$text % $any",
    "$text[0]",
    "$text[-1]",
    "$text[1:]",
    "$text[::-1]",
    "$text[:$number]",
    "$text[-3:-1]",
    "$text[::2]",
    "'%s' % $any",
    "'%d|%5.2f' % ($number, $number)",
    "'%-6s|%r' % ($text, $text)",
    "'%(b)s' % d",
    "'%x' % $number",
    "'%e %g' % ($number, $number)",
    "'%05d' % $number",
    "'%+.3f' % $number",
    "'%s'|format($any)",
    "'{}-{}'.format($any, $any)",
    "'{0:>6}|{1:^5}'.format($text, $text)",
    "'{:,} {:.2f}'.format($number, $number)",
    "'{:05d}'.format(n)",
    "'{k!r} {k!s:3}'.format(k=$any)",
    "'{:e} {:g} {:%}'.format($number, $number, $number)",
    "'{0[b]} {0[a][1]}'.format(d)",
    "$text.strip()",
    "$text.strip('\\n')",
    "$text.strip($text)",
    "$text.lstrip('\\n')",
    "$text.rstrip('\\n')",
    "$text.rstrip()",
    "$text.lstrip()",
    "$text.upper()",
    "$text.lower()",
    "$text.title()",
    "$text.capitalize()",
    "$text.replace($text, $text)",
    "$text.replace('l', 'L', 1)",
    "$text.split('</think>')[-1]",
    "$text.split('</think>')[0].split('<think>')[-1]",
    "', '.join($list | map('string'))",
    "'-'.join(m)",
    "$text.zfill(5)",
    "$text.ljust(12, '.')",
    "$text.rjust(12)",
    "$text.center(11, '*')",
    "$text.swapcase()",
    "$text.removeprefix('a')",
    "$text.removesuffix('d')",
    "$text.expandtabs(4)",
    "$text.casefold()",
    "$text.partition(',')[2]",
    "$text | upper",
    "$text | lower",
    "$text | trim",
    "$any | string",
    "$any | tojson",
    "$any | tojson(indent=2)",
    "$dict | tojson(sort_keys=true)",
    "$any | tojson(indent=1)",
    "$any | tojson(separators=(',', ':'))",
    "$any | tojson(ensure_ascii=true)",
    "$text | capitalize",
    "$text | title",
    "$text | reverse",
    "$list | join",
    "$list | join(', ')",
    "messages | join('/', attribute='role')",
    "$text | replace($text, '_')",
    "$text | indent",
    "$text | indent(2, true)",
    "$text | indent('> ', true, true)",
    "$text | center(9)",
    "$text | truncate(5)",
    "$text | truncate(5, true)",
    "$text | truncate(6, false, '', 0)",
    "$text | urlencode",
    "$text | striptags",
    "$text | trim('a')",
    "$any | default($text)",
    "$any | default($text, true)",
    "$number | filesizeformat",
    "$text if $truth else $text",
    "$text if $truth",
    "$text or $text",
    "$text and $text",
    "loop.index0 if loop is defined else 'no'",
    "$dict | urlencode",
    "$dict | xmlattr",
    "$text | first",
    "$text | last",
    "$text | default('q')",
    "$text | replace('', '-')",
    "messages[2].tool_calls[0].function.arguments | tojson",
    "messages[3].name",
    "$text | max",
    "$text | min",
    "caller() if caller is defined else '-'",
    "strftime_now('%d %b %Y')",
    "$text | string",
    "$text | list | join('|')",
    "$any",
  ],
  number: [
    "n",
    "z",
    "neg",
    "big",
    "f",
    "g",
    "tiny",
    "b",
    "0",
    "1",
    "2",
    "-1",
    "3",
    "10",
    "1.5",
    "0.1",
    "2.0",
    "1e3",
    "100",
    "1_000",
    "1e16",
    "0x1f",
    "2.675",
    "0.5",
    "1e-5",
    "123456.789",
    "$number + $number",
    "$number - $number",
    "$number * $number",
    "$number / $number",
    "$number // $number",
    "$number % $number",
    "n ** 2",
    "2 ** 70",
    "n ** -1",
    "2.5 ** n",
    "-$number",
    "+$number",
    "$any | length",
    "$text | length",
    "$list | length",
    "$list | count",
    "$text | int",
    "$number | int",
    "$number | float",
    "$text | float",
    "$text | float(1.5)",
    "$text | int(7)",
    "$text | int(0, 16)",
    "$number | abs",
    "$number | round",
    "$number | round(2)",
    "$number | round(1, 'floor')",
    "$number | round(0, 'ceil')",
    "$number | round(-1)",
    "l | sum",
    "l | max",
    "l | min",
    "l | sum(start=2)",
    "$text.find('l')",
    "$text.rfind($text)",
    "$text.count('l')",
    "$text.count($text)",
    "$text | wordcount",
    "m.index('b')",
    "l.count(1)",
    "$number if $truth else $number",
    "range(5)[2]",
    "l[0]",
    "d.a[0]",
    "n.bit_length()",
    "$text.find('l', 3)",
    "$text.count('l', 1, 5)",
    "$text.index('')",
    "messages | length",
    "$list | first",
    "$list | last",
  ],
  list: [
    "l",
    "m",
    "mixed",
    "empty",
    "d.a",
    "messages",
    "[]",
    "[$any, $any]",
    "($any, $any)",
    "[$number, $number, $number]",
    "[$text, $text]",
    "$list + $list",
    "l + [$number]",
    "$list * 2",
    "$list[1:]",
    "$list[:-1]",
    "$list[::-1]",
    "$list[-2:]",
    "$text.split()",
    "$text.split($text)",
    "$text.split(' ', 1)",
    "$text.rsplit(' ', 1)",
    "$text.splitlines()",
    "$text.splitlines(true)",
    "$text | list",
    "$list | list",
    "$dict | list",
    "$dict.keys() | list",
    "$dict.values() | list",
    "$dict.items() | list",
    "$dict | items | list",
    "$dict | dictsort",
    "$dict | dictsort(reverse=true)",
    "ed | dictsort(false, 'value')",
    "l | sort",
    "m | sort",
    "m | sort(case_sensitive=true)",
    "l | sort(reverse=true)",
    "messages | sort(attribute='role')",
    "messages | sort(attribute='role,content', reverse=true)",
    "$list | unique | list",
    "m | unique | list",
    "$list | reverse | list",
    "$list | batch(2) | list",
    "$list | batch(2, 'x') | list",
    "$list | slice(2) | list",
    "$list | slice(3, 'x') | list",
    "$list | map('string') | list",
    "m | map('upper') | list",
    "messages | map(attribute='role') | list",
    "messages | map(attribute='name', default='?') | list",
    "$list | select | list",
    "$list | select('string') | list",
    "$list | reject('none') | list",
    "$list | select('in', l) | list",
    "l | select('gt', 1) | list",
    "l | reject('odd') | list",
    "messages | selectattr('role', 'equalto', 'user') | list",
    "messages | selectattr('tool_calls', 'defined') | list",
    "messages | rejectattr('content') | list",
    "messages | selectattr('role', 'in', ['user', 'tool']) | list",
    "messages | groupby('role') | map('first') | list",
    "messages | groupby('role') | list | length",
    "range(4) | list",
    "range(1, 9, 3) | list",
    "range(5, 0, -2) | list",
    "$list if $truth else $list",
    "$text.partition('o')",
    "l.copy()",
    "$list or $list",
    "dict(a=1).items() | list",
    "$list | map('default', 'z') | list",
    "$list | map('tojson') | list",
    "messages | map(attribute='content') | map('length') | list",
    "messages | map(attribute='content') | select | list",
    "m | map('replace', 'b', 'B') | list",
  ],
  dict: [
    "d",
    "ed",
    "messages[1]",
    "messages[2]",
    "messages[2].tool_calls[0].function",
    "messages | first",
    "messages | last",
    "{'k': $any, 1: $any}",
    "{$text: $any}",
    "dict(k=$any)",
    "dict(d, z=$any)",
    "d['2']",
    "{'a': {'b': $list}}",
    "$dict if $truth else $dict",
    "d.copy()",
    "{1: 'x', 1.0: 'y', true: 'z'}",
    "{none: 1, (1, 2): $any}",
    "{1: 2, '1': 3}",
  ],
  truth: [
    "b",
    "o",
    "true",
    "false",
    "$any == $any",
    "$any != $any",
    "$number < $number",
    "$number >= $number",
    "$text < $text",
    "$text <= $text",
    "1 < $number < 9",
    "$text in $text",
    "$text not in $text",
    "$any in $list",
    "$any not in $list",
    "$text in $dict",
    "not $any",
    "$truth and $truth",
    "$truth or $any",
    "$any is defined",
    "$any is none",
    "$any is string",
    "$any is number",
    "$any is mapping",
    "$any is sequence",
    "$any is iterable",
    "$any is boolean",
    "$any is true",
    "$any is integer",
    "$any is float",
    "$number is odd",
    "$number is even",
    "$any is callable",
    "$text is lower",
    "$text is upper",
    "$any is in $list",
    "n is divisibleby 7",
    "$any is equalto $any",
    "$any is eq($any)",
    "$number is gt 2",
    "$any is not none",
    "$any is not defined",
    "$text is escaped",
    "$text is filter",
    "$text is test",
    "$number is lt(3)",
    "$number is ge 1",
    "$text.startswith($text)",
    "$text.endswith(('x', '\\n'))",
    "$text.isdigit()",
    "$text.isalpha()",
    "$text.isspace()",
    "$text.isupper()",
    "$text.islower()",
    "$text.istitle()",
    "$text.isalnum()",
    "$text.isidentifier()",
    "$text.isprintable()",
    "$text.isnumeric()",
    "$text.startswith('H', 2)",
    "missing is undefined",
    "messages[0].zz is defined",
    "messages[2].tool_calls is defined",
    "$list < $list",
    "$dict == $dict",
    "$list == $list",
    "$dict.a is defined",
    "f.is_integer()",
  ],
}
/** Wild ones, which mostly do not render. */
const wild: readonly string[] = [
  "$any.$word",
  "$any[$any]",
  "$any.items",
  "$any | $filter",
  "$any + $any",
  "$any * $any",
  "$any < $any",
  "$any in $any",
  "$any is sameas $any",
  "$any[1:]",
  "$any()",
  "$any.append(1)",
  "$any.get('b', 2)",
  "$any['$word']",
  "-$any",
  "raise_exception($text)",
  "$any.$word()",
  "loop.index",
  "caller()",
  "$any.__class__",
  "$any.0",
  "$any | attr('$word')",
  "cycler('a', 'b').next()",
  "joiner('-')()",
  "namespace(k=$any).k",
  "missing.x",
  "$any if $any",
  "$any % $any",
]
const filterNames =
  "abs attr batch capitalize center count d default dictsort filesizeformat first float format groupby indent int items join last length list lower map max min reject replace reverse round select slice sort string striptags sum title tojson trim truncate unique upper urlencode wordcount xmlattr nosuch".split(
    " ",
  )
const words = "role content a b k name items keys get zz upper count index first real pos c list".split(" ")
const kinds = ["text", "text", "number", "list", "dict", "truth"] as const

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
    switch (Math.floor(this.#random() * 12)) {
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
          this.#tag(`filter ${this.#pick(["upper", "trim", "replace('a', 'b') | lower", "indent(2)"])}`) +
          body() +
          this.#tag("endfilter")
        )
      case 10:
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
