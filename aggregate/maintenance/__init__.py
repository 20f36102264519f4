"""Maintenance of folded data: merging hours into days, retention, refolding, erasing."""
