"""Symbolication: from a func's position in a bundle to its original, by a source map. Values only.

`maps` reads a map and finds positions, `lines` counts lines and columns, `scopes` finds the function at a position of a
source, `labels` combines both, `paths` names sources and scripts, `builds` pairs bundles with maps. `debug_ids` reads
which id a page's script has.
"""
