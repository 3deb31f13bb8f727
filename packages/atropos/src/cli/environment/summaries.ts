/** What the commands of an environment do, for overviews and help. */
export const environmentSummaries = {
  serve: "Run an environment: rollouts, scored groups to the trajectory server",
  process: "Make an environment's groups without a server, into a JSONL file and a page",
  check: "Hold an environment to what training needs of it, offline",
  evaluate: "Measure a policy by an environment's evaluation",
} as const
