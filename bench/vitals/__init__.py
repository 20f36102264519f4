"""What reading the windows of vitals costs, and what keeping them would."""
