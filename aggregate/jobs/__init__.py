"""Jobs: questions too large for one answer, prepared in the background."""
