import type { TaskPack } from "./pack.ts"

const makers = ["Alder", "Birch", "Cedar", "Dune", "Ember", "Fjord", "Glade", "Haven"]
const trades = ["Robotics", "Foods", "Logistics", "Software", "Materials", "Health"]
const metrics = ["revenue", "gross profit", "operating income", "EPS"]
const quarters = ["Q1", "Q2", "Q3", "Q4"]

export const fundamentalsPack: TaskPack = {
  name: "fundamentals",
  description: "a company's last quarters and news that foretell whether a figure is maintained, raised or reduced",
  columns: ["context", "fundamental_metric", "answer", "magnitude"],
  generate(random) {
    const company = `${random.pick(makers)} ${random.pick(trades)}`
    const metric = random.pick(metrics)
    const direction = random.pick(["maintained", "raised", "reduced"] as const)
    const size = direction === "maintained" ? 0 : random.integer(2, 60) / 2
    const change = direction === "reduced" ? -size : size
    let value = random.integer(200, 4000)
    const history = quarters.map((quarter) => {
      value = Math.round(value * (1 + change / 100))
      return `${quarter}: ${metric} ${value.toLocaleString("en-US")} million USD`
    })
    const news = {
      maintained: "Management expects the coming quarter to look like the last one.",
      raised: `Orders are ${size}% above those of the last quarter, and management expects them all to be delivered.`,
      reduced: `A large customer has left; management expects ${size}% less in the coming quarter.`,
    }[direction]
    return {
      context: [`${company}, quarterly figures`, ...history, `News: ${news}`].join("\n"),
      fundamental_metric: metric,
      answer: direction,
      magnitude: String(change),
    }
  },
}
