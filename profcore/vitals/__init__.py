"""The windows of vitals: when a view kept its visitor waiting, and what ran on its main thread meanwhile."""
