// Python's datetime.strftime of a local time without a zone, in the C locale.

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]

export function strftime(format: string, time: Date): string {
  return format.replace(/%([-_0^#]?)(E|O)?([a-zA-Z%])/g, (whole, flag: string, _modifier, code: string) => {
    const value = directive(code, time)
    if (value === undefined) return whole
    return restyle(value, flag)
  })
}

function restyle(value: string, flag: string): string {
  switch (flag) {
    case "-":
      return value.replace(/^[0 ]+(?=.)/, "")
    case "_":
      return value.replace(/^0+(?=.)/, (zeros) => " ".repeat(zeros.length))
    case "^":
    case "#":
      return value.toUpperCase()
    default:
      return value
  }
}

function directive(code: string, time: Date): string | undefined {
  const two = (value: number): string => String(value).padStart(2, "0")
  const blank = (value: number): string => String(value).padStart(2, " ")
  const again = (format: string): string => strftime(format, time)
  const hour12 = time.getHours() % 12 === 0 ? 12 : time.getHours() % 12
  const day = days[time.getDay()] ?? ""
  const month = months[time.getMonth()] ?? ""
  switch (code) {
    case "a":
      return day.slice(0, 3)
    case "A":
      return day
    case "w":
      return String(time.getDay())
    case "u":
      return String(time.getDay() === 0 ? 7 : time.getDay())
    case "d":
      return two(time.getDate())
    case "e":
      return blank(time.getDate())
    case "b":
    case "h":
      return month.slice(0, 3)
    case "B":
      return month
    case "m":
      return two(time.getMonth() + 1)
    case "y":
      return two(time.getFullYear() % 100)
    case "Y":
      return String(time.getFullYear())
    case "C":
      return two(Math.floor(time.getFullYear() / 100))
    case "H":
      return two(time.getHours())
    case "k":
      return blank(time.getHours())
    case "I":
      return two(hour12)
    case "l":
      return blank(hour12)
    case "p":
      return time.getHours() < 12 ? "AM" : "PM"
    case "P":
      return time.getHours() < 12 ? "am" : "pm"
    case "M":
      return two(time.getMinutes())
    case "S":
      return two(time.getSeconds())
    case "f":
      return String(time.getMilliseconds() * 1000).padStart(6, "0")
    case "z":
    case "Z":
      return ""
    case "j":
      return String(dayOfYear(time)).padStart(3, "0")
    case "U":
      return two(Math.floor((dayOfYear(time) + 6 - time.getDay()) / 7))
    case "W":
      return two(Math.floor((dayOfYear(time) + 6 - ((time.getDay() + 6) % 7)) / 7))
    case "G":
      return String(isoWeek(time).year)
    case "g":
      return two(isoWeek(time).year % 100)
    case "V":
      return two(isoWeek(time).week)
    case "s":
      return String(Math.floor(time.getTime() / 1000))
    case "c":
      return again("%a %b %e %H:%M:%S %Y")
    case "x":
    case "D":
      return again("%m/%d/%y")
    case "X":
    case "T":
      return again("%H:%M:%S")
    case "R":
      return again("%H:%M")
    case "r":
      return again("%I:%M:%S %p")
    case "F":
      return again("%Y-%m-%d")
    case "n":
      return "\n"
    case "t":
      return "\t"
    case "%":
      return "%"
    default:
      return undefined
  }
}

const msOfDay = 86_400_000

function dayOfYear(time: Date): number {
  const midnight = Date.UTC(time.getFullYear(), time.getMonth(), time.getDate())
  return (midnight - Date.UTC(time.getFullYear(), 0, 1)) / msOfDay + 1
}

/** The ISO week is the one of its Thursday. */
function isoWeek(time: Date): { year: number; week: number } {
  const weekday = (time.getDay() + 6) % 7
  const thursday = new Date(Date.UTC(time.getFullYear(), time.getMonth(), time.getDate() - weekday + 3))
  const year = thursday.getUTCFullYear()
  return { year, week: Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / msOfDay / 7) + 1 }
}
