"""The speed of the dashboard: of its pages on the server, and of its first screens in a browser."""
