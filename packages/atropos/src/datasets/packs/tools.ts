import type { Random } from "../../environment/random.ts"

/** A function a model may call, one request that needs it, and what it answers. */
export interface ToolTask {
  schema: { name: string; description: string; parameters: object }
  request: string
  arguments: Readonly<Record<string, unknown>>
  response: Readonly<Record<string, unknown>>
  /** The response in words. */
  summary: string
}

const cities = ["Ghent", "Lima", "Osaka", "Turku", "Accra", "Quito", "Perth", "Izmir", "Bergen", "Tunis"]
const currencies = ["EUR", "USD", "JPY", "GBP", "CHF", "INR"]
const titles = ["budget", "planning", "review", "interview", "workshop", "retrospective"]
const words = ["harvest", "signal", "meadow", "copper", "lantern", "orbit"]

function schema(
  name: string,
  description: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): ToolTask["schema"] {
  return { name, description, parameters: { type: "object", properties, required } }
}

export const toolTasks: readonly ((random: Random) => ToolTask)[] = [
  (random) => {
    const [city, days] = [random.pick(cities), random.integer(1, 7)]
    const degrees = random.integer(-5, 35)
    return {
      schema: schema(
        "get_forecast",
        "Weather forecast of a city.",
        { city: { type: "string" }, days: { type: "integer", description: "days ahead" } },
        ["city", "days"],
      ),
      request: `What will the weather be in ${city} over the next ${days} days?`,
      arguments: { city, days },
      response: { city, days, degrees, sky: "clear" },
      summary: `In ${city} it will be clear with ${degrees} degrees over the next ${days} days.`,
    }
  },
  (random) => {
    const [from, to] = random.shuffle(currencies)
    const amount = random.integer(5, 900)
    const rate = random.integer(50, 200) / 100
    return {
      schema: schema(
        "convert_currency",
        "Converts an amount of money.",
        { amount: { type: "number" }, from: { type: "string" }, to: { type: "string" } },
        ["amount", "from", "to"],
      ),
      request: `Convert ${amount} ${from} to ${to}.`,
      arguments: { amount, from, to },
      response: { amount: Math.round(amount * rate * 100) / 100, currency: to },
      summary: `${amount} ${from} are ${Math.round(amount * rate * 100) / 100} ${to}.`,
    }
  },
  (random) => {
    const [title, hour, guests] = [random.pick(titles), random.integer(8, 17), random.integer(2, 12)]
    return {
      schema: schema(
        "book_meeting",
        "Books a meeting room.",
        { title: { type: "string" }, start_hour: { type: "integer" }, guests: { type: "integer" } },
        ["title", "start_hour", "guests"],
      ),
      request: `Book a room for the ${title} meeting at ${hour} o'clock for ${guests} people.`,
      arguments: { title, start_hour: hour, guests },
      response: { room: `R${random.integer(100, 400)}`, booked: true },
      summary: `The ${title} meeting at ${hour} o'clock has a room.`,
    }
  },
  (random) => {
    const [numbers, operation] = [
      Array.from({ length: random.integer(3, 5) }, () => random.integer(1, 99)),
      random.pick(["mean", "sum", "maximum"]),
    ]
    const sum = numbers.reduce((total, value) => total + value, 0)
    const value = operation === "sum" ? sum : operation === "mean" ? sum / numbers.length : Math.max(...numbers)
    return {
      schema: schema(
        "summarise_numbers",
        "Mean, sum or maximum of numbers.",
        {
          numbers: { type: "array", items: { type: "number" } },
          operation: { type: "string", enum: ["mean", "sum", "maximum"] },
        },
        ["numbers", "operation"],
      ),
      request: `What is the ${operation} of ${numbers.join(", ")}?`,
      arguments: { numbers, operation },
      response: { value },
      summary: `The ${operation} is ${value}.`,
    }
  },
  (random) => {
    const [word, language] = [random.pick(words), random.pick(["French", "Swahili", "Finnish", "Tamil"])]
    return {
      schema: schema(
        "translate_word",
        "Translates one word.",
        { word: { type: "string" }, target_language: { type: "string" } },
        ["word", "target_language"],
      ),
      request: `How do you say "${word}" in ${language}?`,
      arguments: { word, target_language: language },
      response: { translation: `${word}-${language.slice(0, 2).toLowerCase()}` },
      summary: `In ${language} it is ${word}-${language.slice(0, 2).toLowerCase()}.`,
    }
  },
  (random) => {
    const [order, urgent] = [`A${random.integer(1000, 9999)}`, random.integer(0, 1) === 1]
    return {
      schema: schema(
        "track_order",
        "State of an order.",
        { order_id: { type: "string" }, urgent: { type: "boolean", description: "ask the carrier at once" } },
        ["order_id", "urgent"],
      ),
      request: `Where is my order ${order}?${urgent ? " It is urgent, please ask the carrier at once." : " There is no hurry."}`,
      arguments: { order_id: order, urgent },
      response: { order_id: order, state: "on its way" },
      summary: `Order ${order} is on its way.`,
    }
  },
]

/** The system text that lists functions and says how to call them. */
export function toolSystemText(schemas: readonly object[]): string {
  return [
    "These functions can be called; each line is a JSON schema.",
    "<tools>",
    ...schemas.map((entry) => JSON.stringify(entry)),
    "</tools>",
    'Call one with <tool_call>{"name": ..., "arguments": {...}}</tool_call>, valid JSON inside, one block per call.',
  ].join("\n")
}

export function toolCallText(task: ToolTask): string {
  return `<tool_call>\n${JSON.stringify({ name: task.schema.name, arguments: task.arguments })}\n</tool_call>`
}

/** Different tasks with different functions. */
export function drawToolTasks(random: Random, count: number): ToolTask[] {
  return random
    .shuffle(toolTasks)
    .slice(0, count)
    .map((make) => make(random))
}
