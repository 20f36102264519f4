"""The language server: what each function of an open file costs real users, above the function."""
