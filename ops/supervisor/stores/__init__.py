"""PostgreSQL and Valkey for `./run`: their programs, the user that they run as, and their start."""
