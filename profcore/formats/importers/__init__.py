"""Importers: foreign profiles become traces as the door takes them. `registry` has them all; one module a format.

What a format cannot say is left empty and never invented. A function's position is where it is defined; a line that
says where a function was running is no position.
"""
