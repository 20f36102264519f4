"""Messages about changed states: gathered from the outbox, written, and sent until they arrive."""
