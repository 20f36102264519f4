"""The search over projects, pages, functions, releases and actions: the command palette, and a page without it."""
