"""The pages "Views" and one view."""
