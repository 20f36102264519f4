"""How well `fieldflame lab` foretells the field: recorded releases of a small shop, in a lab and on users' devices."""
