"""Pages for superusers, about the server as a whole."""
