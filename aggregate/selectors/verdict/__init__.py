"""The verdict on two sides: which page got slower, by whose work, how sure that is, and how often it was asked."""
