"""The other cores than the usual one."""
