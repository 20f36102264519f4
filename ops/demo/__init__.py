"""The demo: a small shop in three releases, recorded in Chromium and resampled into a month of page views.

`shop/` is its source. `recordings/` and `maps/` are what `./run tools record-demo` recorded and built.
docs/demo.md tells the story.
"""
