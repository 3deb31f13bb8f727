import { describe, expect, it } from "vitest"

import { parseBoxedAnswer, parseGoldAnswer } from "./boxed-answer.ts"
import { parseAnswer, type MathTarget } from "./parse-answer.ts"
import { verify, mathEquals, type MathEngine } from "./verify.ts"

function sourcesOf(text: string, targets?: readonly MathTarget[]): string[] {
  return parseAnswer(text, targets).map((item) => (item.kind === "text" ? `text:${item.text}` : item.source))
}

describe("where an answer is looked for", () => {
  it("takes what stands behind 'final answer is' before a box, and a box before other formulas", () => {
    const text = "First $1$, then \\boxed{2}. The final answer is $3$. I hope it is correct. And $4$."
    expect(sourcesOf(text)[0]).toBe("3")
    expect(sourcesOf("First $1$, then \\boxed{2}. And $4$.")[0]).toBe("2")
    expect(sourcesOf("First $1$. And $4$.")[0]).toBe("4")
  })

  it("takes a box before anything else when its priority is 0, and none at -1", () => {
    const text = "\\boxed{2} The final answer is $3$."
    expect(sourcesOf(text, [{ type: "latex", boxedPriority: 0 }])[0]).toBe("2")
    expect(sourcesOf("\\boxed{2}", [{ type: "latex", boxedPriority: -1 }])).toEqual([])
  })

  it("takes formulas without an anchor only where that is allowed", () => {
    expect(sourcesOf("so $5$", [{ type: "latex", anchorless: false }])).toEqual([])
    expect(sourcesOf("The answer is $5$", [{ type: "latex", anchorless: false }])[0]).toBe("5")
    expect(sourcesOf("so 5", [{ type: "expr", anchorless: false }])).toEqual([])
  })

  it("takes the number behind the last equals sign after 'answer', never one that an equals sign follows", () => {
    expect(sourcesOf("Answer: 2 + 3 = 5", [{ type: "expr" }])[0]).toBe("5")
    expect(sourcesOf("Answer: we get 7 in the end", [{ type: "expr" }])[0]).toBe("7")
  })

  it("joins boxes that stand close together or are separated by a word, and takes the last of others", () => {
    expect(sourcesOf("\\boxed{1} \\boxed{2}")[0]).toBe("1,2")
    expect(sourcesOf("\\boxed{1} for the first part and \\boxed{2}")[0]).toBe("1,2")
    expect(sourcesOf("\\boxed{1} but let me try that again \\boxed{2}")[0]).toBe("2")
    expect(sourcesOf("\\boxed{2} again, and \\boxed{2}")[0]).toBe("2")
  })

  it("does not find a box that was cut off", () => {
    expect(parseBoxedAnswer("so \\boxed{12")).toEqual([])
    expect(parseBoxedAnswer("so \\boxed{}")).toEqual([])
  })

  it("takes choices as strings, in lower case unless told otherwise", () => {
    expect(sourcesOf("The answer is **B**.", [{ type: "string" }])).toEqual(["text:b", "text:B"])
    expect(sourcesOf("The answer is B", [{ type: "string", lowercase: false }])).toEqual(["text:B"])
    expect(sourcesOf("red or green? Answer: green", [{ type: "string", strings: ["red", "green"] }])[0]).toBe(
      "text:green",
    )
    expect(sourcesOf("About", [{ type: "string" }])).toEqual([])
  })

  it("tries on until a match can be read, or looks at the best one only", () => {
    const text = "$5$ but then $\\unknown{x}$"
    expect(parseAnswer(text, [{ type: "latex" }], { mode: "any" })[0]).toMatchObject({ source: "5" })
    expect(parseAnswer(text, [{ type: "latex" }], { mode: "first", fallback: false })).toEqual([])
  })

  it("gives the text of the first match as a fallback, unless told not to", () => {
    expect(sourcesOf("$\\unknown{x}$")).toEqual(["text:\\unknown{x}"])
    expect(parseAnswer("$5$", undefined, { fallback: false })).toHaveLength(1)
  })
})

describe("how replies to a boxed prompt are read", () => {
  it("does not repair malformed commands, and does so in gold answers", () => {
    expect(verify(parseGoldAnswer("\\frac34"), parseBoxedAnswer("\\boxed{\\frac{3}{4}}"))).toBe(true)
    expect(verify(parseGoldAnswer("\\frac{3}{4}"), parseBoxedAnswer("\\boxed{\\frac34}"))).toBe(false)
  })

  it("takes a gold answer that has a box already", () => {
    expect(verify(parseGoldAnswer("\\boxed{7}"), parseBoxedAnswer("\\boxed{7}"))).toBe(true)
    expect(parseGoldAnswer("")).toEqual([])
  })
})

describe("comparing", () => {
  it("lets a bare number answer a percentage that an environment boxed, but not one in a text", () => {
    expect(verify(parseGoldAnswer("50\\%"), parseBoxedAnswer("\\boxed{50}"))).toBe(true)
    expect(mathEquals("$50\\%$", "\\boxed{50}")).toBe(false)
    expect(mathEquals("$50$", "\\boxed{50\\%}")).toBe(true)
  })

  it("rounds decimals to as many places as it is told", () => {
    expect(mathEquals("$(\\frac{3}{5},\\frac{8}{3}]$", "$(0.6,2.6667]$")).toBe(false)
    expect(mathEquals("$(\\frac{3}{5},\\frac{8}{3}]$", "$(0.6,2.6667]$", { floatRounding: 2 })).toBe(true)
    expect(mathEquals("12", "12.0000001")).toBe(true)
    expect(mathEquals("0.00000012", "0.00000034")).toBe(false)
  })

  it("matches symbols by position when it is not strict", () => {
    expect(mathEquals("$a+2b$", "$x+2y$")).toBe(false)
    expect(mathEquals("$a+2b$", "$x+2y$", { strict: false })).toBe(true)
    expect(mathEquals("$f(x)$", "$f(y)$", { strict: false })).toBe(true)
  })

  it("takes a relation for a gold set only when it is allowed", () => {
    expect(mathEquals("$x \\in [-2,7]$", "$-2 \\le x \\le 7$")).toBe(false)
    expect(mathEquals("$x \\in [-2,7]$", "$-2 \\le x \\le 7$", { allowSetRelation: true })).toBe(true)
  })

  it("tells formulas apart that doubles do not", () => {
    expect(mathEquals("$x+10^{15}$", "$x+10^{15}+1$")).toBe(false)
    expect(mathEquals("$x=100130$", "$x=100131$")).toBe(false)
    expect(mathEquals("$2^{4000}$", "$2^{4000}+1$")).toBe(false)
    expect(mathEquals("$y=10^{12}x+1$", "$y=10^{12}x+2$")).toBe(false)
  })

  it("asks an engine about what it does not find equal itself", () => {
    const asked: string[] = []
    const engine: MathEngine = {
      name: "yes",
      equal: (gold, answer) => {
        asked.push(`${gold.kind}/${answer.kind}`)
        return true
      },
    }
    expect(mathEquals("$\\int_0^1 x\\,dx$", "$\\frac{1}{2}$")).toBe(false)
    expect(mathEquals("$\\int_0^1 x\\,dx$", "$\\frac{1}{2}$", { engine })).toBe(true)
    expect(mathEquals("1", "1", { engine })).toBe(true)
    expect(asked).toEqual(["opaque/quotient"])
  })
})
