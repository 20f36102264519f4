"""`./run tools NAME …`: the programs that make the project's own material."""

from tools.starting import run_named

if __name__ == "__main__":
    run_named("tools")
