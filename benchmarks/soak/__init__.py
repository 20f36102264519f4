"""A long run of a whole Fieldflame: steady load with everything beside it, overload, and restarts of its stores."""
