"""New third parties and packages that cost: the rules, the watch that follows them, and its preview."""
