"""Programs that measure Fieldflame: `./run benchmarks`. They are not part of the product."""
