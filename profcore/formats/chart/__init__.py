"""Charts: the model from which every stack format is written, and its builders for slices and views."""
