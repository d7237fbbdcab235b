"""Commands that measure the package: campaigns, coverage, benchmarks."""
