"""Reports of pages that crashed or hung, as browsers send them, and the call stacks in them."""
