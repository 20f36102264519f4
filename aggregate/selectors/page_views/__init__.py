"""Page views of a slice: their contributions, raw traces, samples and lists."""
