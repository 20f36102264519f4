"""The settings of a project: pages where members read what holds, and admins change it."""
