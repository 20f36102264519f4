"""Importers: foreign profiles become traces that ingest accepts. One module per format; `registry` has them all.

Fields that a format does not have stay empty and are never invented. A function's position is where it is defined. A
line at which a function was running is not a position.
"""
