"""The replica: a standby of PostgreSQL that pages and the read API may read, if there is one."""
