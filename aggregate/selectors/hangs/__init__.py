"""Pages that hung or crashed, as browsers reported them."""
