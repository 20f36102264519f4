"""Messages about changed states: gathered from the outbox, written, and sent until somebody has them."""
