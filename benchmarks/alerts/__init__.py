"""Alarms, simulated: how often they are false, and how many views a real slowdown takes."""
