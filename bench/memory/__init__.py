"""What Fieldflame holds in memory: a web process over many reads, and all processes of a `./run` together."""
