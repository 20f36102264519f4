"""The part of Pyroscope's query API that Grafana's data source asks, answered from our sums."""
