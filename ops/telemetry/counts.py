"""The files in which processes count, and their sum, which only rises while the folder stays.

prometheus_client gives each process files of its own in `PROMETHEUS_MULTIPROC_DIR` and adds them up when asked. It
keeps those of processes that have ended. A worker replaces its processes all the time, so each answer adds the files of
ended processes to one file per type: a thousand replaced processes cost no more than one. A folder belongs to the
processes of one machine, or one container: elsewhere a living process would look like an ended one.
"""

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

FOLDER_NAME: Final = "PROMETHEUS_MULTIPROC_DIR"
ENDED: Final = "ended"  # in the place of the process's id


class CountsCollector(Collector):
    """Collects what all processes have counted, those that have ended too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def collect(self) -> Iterator[Metric]:
        with _hold(self.folder):
            _merge_ended(self.folder)
            # A file is empty for an instant, when a process opens it.
            metrics = list(_read(path for path in self.folder.glob("*.db") if path.stat().st_size))
        yield from metrics


def open_counts() -> CollectorRegistry:
    """Returns the counts of all processes that share a folder, else those of this process only."""
    folder = os.environ.get(FOLDER_NAME)
    if not folder or not Path(folder).is_dir():
        return REGISTRY
    counts = CollectorRegistry()
    counts.register(CountsCollector(Path(folder)))
    return counts


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Lets one process at a time read the files, so that none reads a sum and its parts."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _merge_ended(folder: Path) -> None:
    """Adds the files of ended processes to those named `ENDED`.

    A kill in between loses what ended processes had counted. Prometheus takes that for a restart.
    """
    ended: dict[str, list[Path]] = defaultdict(list)
    for path in folder.glob("*.db"):
        kind, _, process = path.stem.rpartition("_")
        if process.isdecimal() and path.stat().st_size and not _is_alive(int(process)):
            ended[kind].append(path)
    for kind, paths in ended.items():
        sums = folder / f"{kind}_{ENDED}.db"
        made = folder / f"{kind}.new"
        made.unlink(missing_ok=True)
        _write(made, _read([*paths, *([sums] if sums.exists() else [])], accumulate=False))
        for path in paths:
            path.unlink()
        made.replace(sums)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(paths: Iterable[Path], *, accumulate: bool = True) -> Iterable[Metric]:
    merged: Iterable[Metric] = MultiProcessCollector.merge(  # type: ignore[no-untyped-call]  # as above
        [str(path) for path in paths], accumulate=accumulate
    )
    return merged


def _write(path: Path, metrics: Iterable[Metric]) -> None:
    values = MmapedDict(str(path))  # type: ignore[no-untyped-call]  # as above
    for metric in metrics:
        for sample in metric.samples:
            names, labels = list(sample.labels), list(sample.labels.values())
            key = mmap_key(metric.name, sample.name, names, labels, metric.documentation)
            values.write_value(key, sample.value, 0.0)  # type: ignore[no-untyped-call]  # as above
    values.close()  # type: ignore[no-untyped-call]  # as above
