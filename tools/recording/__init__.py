"""Recording the demo anew (`./run record_demo`): the shop is built and served, and Chromium visits it."""
