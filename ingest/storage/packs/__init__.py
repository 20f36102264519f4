"""Bodies in an object store: several in one object, a pack. PostgreSQL keeps where each body lies."""
