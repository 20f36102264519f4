"""What Grafana's Pyroscope data source asks with, and the answers that it draws."""
