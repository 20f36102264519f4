"""The packages, importable as they are where they are installed."""

import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[2] / "packages"
sys.path[:0] = [str(PACKAGES / name) for name in ("fieldflame-django", "fieldflame")]
