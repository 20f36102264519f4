"""How costs grow with the number of page views."""
