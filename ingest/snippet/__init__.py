"""The snippet: its TypeScript source, the built file, and the view that serves it."""
