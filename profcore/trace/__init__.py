"""One trace: its wire format, its page, its funcs, and the time that each sample stands for."""
