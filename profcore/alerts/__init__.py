"""Watching a site: the states of what is watched, and when they change. Pure rules."""
