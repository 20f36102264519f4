"""What pages, the read API and the command line ask of the folded cells: plain values, one statement per question.

Every question goes through a project. Sums are exact µs and samples; the names of fields carry their units.
"""
