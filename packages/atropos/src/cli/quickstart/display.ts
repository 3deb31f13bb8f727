import { bar, curve } from "./bars.ts"
import type { QuickstartEvent, ReportEvent, StepEvent } from "./events.ts"

const barWidth = 30
const curveWidth = 60

/** Turns events into lines for a terminal. */
export function createDisplay(write: (text: string) => void): (event: QuickstartEvent) => void {
  const rewards: number[] = []
  return (event) => {
    switch (event.event) {
      case "parts":
        for (const { name, pid, address } of event.parts) {
          write(`${name.padEnd(18)} process ${String(pid).padEnd(8)} ${address ?? ""}\n`)
        }
        write(`logs in ${event.runDirectory}/logs\n\n`)
        write("  step  seconds  reward  exact  tokens/s  staleness\n")
        break
      case "step":
        rewards.push(event.reward)
        write(`${stepLine(event)}  ${bar(event.reward, barWidth)}\n`)
        break
      case "report":
        write(`\n${curve(rewards, curveWidth)}\n${report(event)}`)
        break
    }
  }
}

function stepLine({ step, seconds, reward, exact, tokensPerSecond, staleness }: StepEvent): string {
  return [
    String(step).padStart(6),
    seconds.toFixed(1).padStart(7),
    reward.toFixed(3).padStart(6),
    exact.toFixed(2).padStart(5),
    Math.round(tokensPerSecond).toString().padStart(8),
    staleness.toFixed(1).padStart(9),
  ].join("  ")
}

function report({ reached, reward, heldOut, steps, rollouts, seconds }: ReportEvent): string {
  const row = (name: string, before: number, after: number): string =>
    `${name.padEnd(30)} ${before.toFixed(3)} → ${after.toFixed(3)}\n`
  if (steps === 0)
    return `The budget of ${seconds.toFixed(0)} s is spent before the first step; --minutes sets another.\n`
  return (
    `${reached ? "Target reached." : "The budget is spent, the target not reached."}\n` +
    row("mean reward", reward.start, reward.end) +
    row("held-out strings, exact", heldOut.before, heldOut.after) +
    `${steps} steps, ${rollouts} rollouts, ${seconds.toFixed(1)} s\n`
  )
}
