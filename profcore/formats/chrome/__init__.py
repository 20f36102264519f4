"""The formats of Chrome's DevTools: CPU profiles and trace events. Positions are 0-based, times whole µs."""
