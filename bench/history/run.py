"""`bench history`: fills a database of its own with a year, exports it, and asks both sides the same questions.

Each step is a process of its own, which starts the database anew: so the first answer finds nothing in its memory.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.history.asking import QUESTIONS
from config.up.parts import BASE_DIR, make_manage_command
from config.up.running import own_environment

DATA: Final = "var"


def bench_history(corpus: Path, views: int, days: int, kept: Path | None, tell: Callable[[str], object]) -> None:
    """Tells what a year of so many views takes on both sides, and how long the answers take.

    With `kept`, a folder, the database and the files stay there; a second run does not fill them again.
    """
    with _find_place(kept) as place:
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "filled.json").exists():
            _run(place, "fill", corpus=str(corpus), views=views, days=days)
        if not (place / "exported.json").exists():
            _run(place, "export")
        if not (place / "rolled.json").exists():
            _run(place, "roll_up")
        tell(_describe_sizes(_read(place, "filled"), _read(place, "exported"), _read(place, "rolled")))
        for number, question in enumerate(QUESTIONS):
            _run(place, "ask", number=number)
            tell(_describe_answers(question, _read(place, "asked")))


@contextmanager
def _find_place(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="fieldflame-history-") as name:
        yield Path(name)


def _run(place: Path, step: str, **words: object) -> None:
    code = f"from bench.history import asking\nasking.{step}({str(place)!r}, **{words!r})"
    environment = own_environment({"FIELDFLAME_DATA": str(place / DATA)})
    command = make_manage_command("shell", "--no-imports", "--command", code)
    subprocess.run(command, cwd=BASE_DIR, env=environment, check=True)


def _read(place: Path, name: str) -> Any:  # Any: JSON
    return json.loads((place / f"{name}.json").read_text(encoding="utf-8"))


def _describe_sizes(filled: dict[str, Any], exported: dict[str, Any], rolled: dict[str, Any]) -> str:
    lines = [
        f"{filled['views']:,} views of {filled['days']} days",
        f"exported in {exported['s']:.0f} s ({exported['processor_s']:.0f} s of this processor), peak "
        f"{exported['peak_mb']:.0f} MB; again without a change in {exported['again_s']:.1f} s",
        f"  PostgreSQL  {_describe_parts(filled['bytes'])}",
        f"  Parquet     {_describe_parts(exported['bytes'])}",
        f"  rolled up   {_describe_parts(rolled['bytes'])}; made in {rolled['s']:.0f} s "
        f"({rolled['processor_s']:.0f} s of the processor)",
    ]
    return "\n".join(lines)


def _describe_parts(sizes: dict[str, int]) -> str:
    parts = ", ".join(f"{name} {size / 1e6:,.1f}" for name, size in sorted(sizes.items(), key=lambda row: -row[1]))
    return f"{sum(sizes.values()) / 1e6:8,.1f} MB: {parts}"


def _describe_answers(question: str, sides: dict[str, Sequence[float]]) -> str:
    answers = "".join(
        f"\n    {side:12} cold {cold:8,.1f} ms, warm {warm:8,.1f} ms, processor {processor:8,.1f} ms"
        for side, (cold, warm, processor) in sides.items()
    )
    return f"  {question}{answers}"
