"""One project with all of the load, against the same load over many projects."""
