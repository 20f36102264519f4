"""Django's database backend for PostgreSQL, whose pool obeys the deadline of a request."""
