"""The command `review`: what the functions that a change touches cost real users, and after it, what it saved."""
