"""New third parties and packages that cost: the rules, the alert that follows them, and its preview."""
