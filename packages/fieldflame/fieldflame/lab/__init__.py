"""From the lab to the field: what a change that a build recorded would cost real users. An estimate."""
