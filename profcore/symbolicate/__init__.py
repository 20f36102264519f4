"""Symbolication: from a func's position in a bundle to its original, by a source map. Values in, values out.

`maps` reads a map and looks positions up, `scopes` finds the function at a position of a source, `labels` puts both
together, `paths` tells what sources and scripts are called, `builds` finds out which map is whose.
"""
