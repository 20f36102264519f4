"""Workers in which some traces are poison: they crash the process that folds them. Only tests start these."""
