"""Views on their clocks, written for the Firefox Profiler and read back sample by sample."""

from typing import Any

from profcore.formats.firefox.writer import write_views
from profcore.formats.slice import TimelineExport
from tests.profcore.formats.firefox.lint import load_good

Json = dict[str, Any]  # a foreign file, as JSON gave it


def write(export: TimelineExport) -> Json:
    return load_good(b"".join(write_views(export)))


def path_of(profile: Json, stack: int | None) -> str:
    shared = profile["shared"]
    names = []
    while stack is not None:
        func = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
        names.append(shared["stringArray"][shared["funcTable"]["name"][func]])
        offset = shared["stackTable"]["prefixOffset"][stack]
        stack = stack - offset if offset else None
    return " ".join(reversed(names)) or "-"


def sample_lines(profile: Json, thread: int = 0) -> list[str]:
    """Returns a line per sample: time, weight, CPU µs, stack."""
    samples = profile["threads"][thread]["samples"]
    time, lines = 0.0, []
    for delta, weight, cpu, stack in zip(
        samples["timeDeltas"], samples["weight"], samples["threadCPUDelta"], samples["stack"], strict=True
    ):
        time += delta
        lines.append(f"{time:.9g} {weight:.9g} {cpu} {path_of(profile, stack)}")
    return lines
