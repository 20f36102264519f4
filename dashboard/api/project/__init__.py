"""Endpoints about a project: lists, quality, settings, code, source maps."""
