"""The verdict's statistics: its family of questions, its incidents, the plan of looks, and how certain a message is."""
