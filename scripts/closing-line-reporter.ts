import type { Reporter, TestModule } from "vitest/node"

/** Prints `N passed, N failed, N skipped` as the last line, for scripts that read it. */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1
      // A file that could not be loaded has no tests to fail.
      if (module.errors().length > 0) counts.failed += 1
    }
    process.stdout.write(
      `\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped\n`,
    )
  }
}
