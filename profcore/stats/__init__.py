"""Statistics of views: what a func costs a page view, with its uncertainty, and whether that changed.

`views` builds samples of views from their contributions, `summaries` describes one sample, `comparison` compares two.
SciPy is imported here and nowhere else in the core: folding does without it.
"""
