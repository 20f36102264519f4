"""The result for people and for CI systems: as text, Markdown and JUnit XML."""
