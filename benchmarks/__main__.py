"""`./run benchmarks NAME …`: the measurements of docs/benchmarks.md. Compare ratios within one run: machines differ."""

from tools.starting import run_named

if __name__ == "__main__":
    run_named("benchmarks")
