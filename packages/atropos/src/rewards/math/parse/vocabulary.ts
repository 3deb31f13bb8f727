// What the commands and characters of mathematical text mean to the lexer.

/** Commands that change only how something looks. */
export const invisibleCommands: ReadonlySet<string> = new Set(
  (
    ", ; : ! quad qquad thinspace medspace thickspace enspace negthinspace displaystyle textstyle scriptstyle " +
    "scriptscriptstyle limits nolimits left right middle mleft mright big Big bigg Bigg bigl bigr Bigl Bigr biggl " +
    "biggr Biggl Biggr mathstrut strut nonumber notag hline hfill allowbreak nobreak ensuremath rm bf it sf small " +
    "large Large normalsize centering $ /"
  ).split(" "),
)

/** Commands that are dropped together with their first argument. */
export const droppedWithArgument: ReadonlySet<string> = new Set(
  "phantom hphantom vphantom hspace vspace hskip label tag color textcolor".split(" "),
)

/** Commands whose argument is words. */
export const textCommands: ReadonlySet<string> = new Set(
  "text textbf textit textrm textnormal textsf texttt textsc mbox hbox emph textup".split(" "),
)

/** Commands whose argument is set upright: a unit, a constant, the name of a function. */
export const romanCommands: ReadonlySet<string> = new Set("mathrm operatorname".split(" "))

/** Commands whose argument is mathematics that only looks different. */
export const styleCommands: ReadonlySet<string> = new Set(
  (
    "mathit mathbf mathsf mathtt mathnormal mathcal mathscr mathfrak boldsymbol bm pmb symbf boxed fbox underline " +
    "underbrace"
  ).split(" "),
)

/** Commands that make another name of what they stand over. */
export const accentCommands: ReadonlySet<string> = new Set(
  (
    "hat widehat bar overline vec overrightarrow overleftarrow tilde widetilde dot ddot check breve acute grave " +
    "mathring overparen wideparen overset"
  ).split(" "),
)

/** Functions of one argument that are evaluated; their names without a backslash count too. */
export const plainFunctions: ReadonlySet<string> = new Set(
  (
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth sech csch arcsinh arccosh " +
    "arctanh arsinh arcosh artanh ln log exp lg"
  ).split(" "),
)

/** Functions of several arguments. */
export const listFunctions: ReadonlySet<string> = new Set("max min gcd lcm".split(" "))

/** Written out as words in plain text. */
export const wordCommands: Readonly<Record<string, string>> = {
  pi: "pi",
  infinity: "infty",
  inf: "infty",
  sqrt: "sqrt",
  alpha: "alpha",
  beta: "beta",
  theta: "theta",
  lambda: "lambda",
  sigma: "sigma",
  omega: "omega",
  phi: "phi",
}

/** Names of letters and other things that stand for themselves. */
export const symbolCommands: ReadonlySet<string> = new Set(
  (
    "alpha beta gamma Gamma delta Delta epsilon varepsilon zeta eta theta Theta vartheta iota kappa lambda Lambda mu " +
    "nu xi Xi omicron Pi varpi rho varrho sigma Sigma varsigma tau upsilon Upsilon phi Phi varphi chi psi Psi omega " +
    "Omega ell hbar angle triangle square nabla partial aleph Re Im wp imath jmath diamond star clubsuit diamondsuit " +
    "heartsuit spadesuit measuredangle Pr varnothing emptyset complement"
  ).split(" "),
)

/** Operators, relations and delimiters. */
export const operatorCommands: ReadonlySet<string> = new Set(
  (
    "cdot times ast div pm mp over frac dfrac tfrac cfrac binom dbinom tbinom choose sqrt infty pi le leq leqslant ge " +
    "geq geqslant lt gt ne neq approx sim simeq cong equiv in notin cup cap setminus backslash langle rangle lfloor " +
    "rfloor lceil rceil lvert rvert vert lVert rVert Vert | mid colon circ degree prime sum prod int iint lim mod pmod " +
    "bmod det top { } lbrace rbrace lbrack rbrack lparen rparen begin end mathbb ldots dots cdots dotsc dotsb vdots not " +
    "to rightarrow longrightarrow % # & _ - \\ dotsm bigcup bigcap oint"
  ).split(" "),
)

export function isKnownCommand(name: string): boolean {
  return (
    invisibleCommands.has(name) ||
    droppedWithArgument.has(name) ||
    textCommands.has(name) ||
    romanCommands.has(name) ||
    styleCommands.has(name) ||
    accentCommands.has(name) ||
    plainFunctions.has(name) ||
    listFunctions.has(name) ||
    symbolCommands.has(name) ||
    operatorCommands.has(name)
  )
}

/** Characters outside ASCII, as the LaTeX they stand for. */
const characters: Readonly<Record<string, string>> = {
  "−": "-",
  "–": "-",
  "—": "-",
  "‐": "-",
  "‑": "-",
  "⁻": "-",
  "×": "\\times ",
  "⋅": "\\cdot ",
  "·": "\\cdot ",
  "∙": "\\cdot ",
  "∗": "*",
  "÷": "/",
  "∕": "/",
  "⁄": "/",
  π: "\\pi ",
  "∞": "\\infty ",
  "≤": "\\le ",
  "≦": "\\le ",
  "⩽": "\\le ",
  "≥": "\\ge ",
  "≧": "\\ge ",
  "⩾": "\\ge ",
  "≠": "\\ne ",
  "≈": "\\approx ",
  "≅": "\\approx ",
  "≡": "=",
  "∪": "\\cup ",
  "∩": "\\cap ",
  "∖": "\\setminus ",
  "∈": "\\in ",
  "∅": "\\emptyset ",
  "±": "\\pm ",
  "∓": "\\mp ",
  "°": "^\\circ ",
  ℝ: "\\mathbb{R}",
  ℤ: "\\mathbb{Z}",
  ℕ: "\\mathbb{N}",
  ℚ: "\\mathbb{Q}",
  ℂ: "\\mathbb{C}",
  "⌊": "\\lfloor ",
  "⌋": "\\rfloor ",
  "⌈": "\\lceil ",
  "⌉": "\\rceil ",
  "′": "'",
  "’": "'",
  "\u00a0": " ",
  "\u2009": " ",
  "\u202f": " ",
  "％": "%",
  "，": ",",
  "；": ";",
  "：": ":",
  "（": "(",
  "）": ")",
  "½": "{1/2}",
  "⅓": "{1/3}",
  "⅔": "{2/3}",
  "¼": "{1/4}",
  "¾": "{3/4}",
  "⅕": "{1/5}",
  "⅛": "{1/8}",
  "⅜": "{3/8}",
  "⅝": "{5/8}",
  "⅞": "{7/8}",
  α: "\\alpha ",
  β: "\\beta ",
  γ: "\\gamma ",
  δ: "\\delta ",
  Δ: "\\Delta ",
  ε: "\\epsilon ",
  θ: "\\theta ",
  λ: "\\lambda ",
  μ: "\\mu ",
  ρ: "\\rho ",
  σ: "\\sigma ",
  τ: "\\tau ",
  φ: "\\phi ",
  ϕ: "\\varphi ",
  χ: "\\chi ",
  ψ: "\\psi ",
  ω: "\\omega ",
  Ω: "\\Omega ",
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"
const subscripts = "₀₁₂₃₄₅₆₇₈₉"
// Letters and digits of the mathematical alphabets are not mapped: models write them rarely, fullwidth ones never.
const outsideAscii = /\P{ASCII}/u

function digitsOf(run: string, alphabet: string): string {
  return run.replaceAll(/./g, (digit) => String(alphabet.indexOf(digit)))
}

/** The text with characters outside ASCII written as LaTeX, where we know them. */
export function toAscii(text: string): string {
  if (!outsideAscii.test(text)) return text
  return text
    .replaceAll(/[⁰¹²³⁴-⁹]+/g, (run) => `^{${digitsOf(run, superscripts)}}`)
    .replaceAll(/[₀-₉]+/g, (run) => `_{${digitsOf(run, subscripts)}}`)
    .replaceAll(/√\s*(\d+(?:\.\d+)?|[A-Za-z])/g, "\\sqrt{$1}")
    .replaceAll(/√/g, "\\sqrt ")
    .replaceAll(/\P{ASCII}/gu, (character) => characters[character] ?? character)
}
