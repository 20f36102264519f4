"""What the pages of a project share: the shell, forms, the export menu, charts."""
