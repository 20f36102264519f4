"""What the doctor checks about this server itself: `./run doctor --server`, and the page "Server" of superusers."""
