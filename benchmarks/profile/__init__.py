"""Where the processor time of a trace goes."""
