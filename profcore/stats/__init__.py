"""Statistics of views: the cost of a func per page view, its uncertainty, and whether it changed.

`views` builds samples of views from their contributions, `summaries` describes one sample, `comparison` compares two.
Only this package of the core imports SciPy: folding does not need it.
"""
