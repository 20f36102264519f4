"""What ran in the windows of vitals, over the views of a slice."""
