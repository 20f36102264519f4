"""The MCP server: an assistant asks a Fieldflame server, and gets short sentences with their certainty."""
