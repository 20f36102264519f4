"""Writing what several posts bring at the same time by one statement, on connections of its own."""
