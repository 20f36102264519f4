"""The recorded corpus in a stack: its projects, and the comparison with the reference."""
