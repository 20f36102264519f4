"""The demo: a small shop in three releases, recorded in Chromium and resampled into a month of page views.

`shop/` is its source, `recording/` records it anew, `recordings/` and `maps/` are what was recorded and built.
docs/demo.md tells the story.
"""
