"""What a person looks for by name: functions, pages and releases."""
