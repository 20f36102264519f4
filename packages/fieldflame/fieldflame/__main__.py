"""`python -m fieldflame` is the command `fieldflame`."""

import sys

from fieldflame.main import main

if __name__ == "__main__":
    sys.exit(main())
