"""What reading the metrics costs."""
