"""Django's database backend for PostgreSQL, whose pool obeys the patience of a request."""
