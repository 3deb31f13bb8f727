import { defineConfig } from "vitest/config"

const exclude = ["**/node_modules/**", "**/dist/**"]

export default defineConfig({
  test: {
    // By default one core of two would stay idle.
    maxWorkers: "100%",
    reporters: ["default", "./scripts/closing-line-reporter.ts"],
    projects: [
      {
        test: {
          name: "fast",
          include: ["**/*.test.ts"],
          exclude,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          pool: "forks",
        },
      },
      {
        test: {
          name: "slow",
          include: ["**/*.slow-test.ts"],
          exclude,
          testTimeout: 600_000,
          hookTimeout: 60_000,
          pool: "forks",
          fileParallelism: false,
        },
      },
    ],
  },
})
