"""The result for people and for CI systems: as text, Markdown, JUnit XML and SARIF."""
