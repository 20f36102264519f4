"""Recording the demo (`./run tools record-demo`): the shop is built and served, and Chromium visits it."""
