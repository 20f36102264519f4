"""What an operator sees of the running parts: metrics, their address, and logs (docs/telemetry.md)."""
