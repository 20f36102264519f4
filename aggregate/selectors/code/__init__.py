"""Details of a project's code: its sites, its rules, and the labels of its functions."""
