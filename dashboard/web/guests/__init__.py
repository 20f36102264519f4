"""Guests: people without an account, who read one project by a shared link, below an address of their own."""
