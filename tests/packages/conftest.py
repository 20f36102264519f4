"""The packages, importable as they are where they are installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "packages" / "fieldflame-django"))
