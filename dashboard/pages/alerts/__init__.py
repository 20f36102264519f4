"""What the alerts of a project found: states, their history, and the way from a message to the viewer."""
