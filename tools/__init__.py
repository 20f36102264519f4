"""Programs that make the project's own material: `./run tools`. They are not part of the product."""
