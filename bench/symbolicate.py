"""The speed and the memory of labelling many functions."""

import resource
import time
from dataclasses import dataclass
from typing import Final

from tqdm import tqdm

from aggregate.folding.interning import intern_funcs
from aggregate.label_models import Label
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.queue import count_pending
from aggregate.sourcemaps.uploading import store_build
from bench.source_maps import make_build
from ingest.projects.creation import create_project
from profcore.trace.funcs import FuncKey

PREFIX: Final = "https://bench.example/assets"
INTERN_BATCH: Final = 5_000
WAIT_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolicateResult:
    """Seconds, and peak memory of this process and of the largest one that read a map."""

    maps: int
    map_bytes: int
    funcs: int
    upload_s: float
    label_s: float
    peak_mb: float
    child_peak_mb: float


def bench_symbolicate(maps: int, funcs: int) -> SymbolicateResult:
    """Interns `funcs` funcs of a new project, then uploads their `maps` maps and labels all; returns the measures.

    Workers of this installation take part. Raises `RuntimeError` if a func got no name.
    """
    project, _ = create_project(slug=f"bench-maps-{time.time_ns():x}", origins=["*"])
    files, places = make_build(maps, funcs // maps)
    keys = [FuncKey(f"{PREFIX}/{path}", 1, column, "f") for path, column in places]
    for start in range(0, len(keys), INTERN_BATCH):
        intern_funcs(project.pk, keys[start : start + INTERN_BATCH], is_bounded=False)
    begun = time.perf_counter()
    store_build(project.pk, release="1", url_prefixes=[PREFIX], files=files)
    stored = time.perf_counter()
    with tqdm(total=len(keys), unit="func", desc="symbolicate") as bar:
        while count_pending(project.pk) != (0, 0):
            if not label_all(project.pk, on_labelled=bar.update):
                time.sleep(WAIT_S)  # a worker holds the last ones
    done = time.perf_counter()
    named = Label.objects.filter(project=project, name__startswith="compute").count()
    if named != len(keys):
        raise RuntimeError(f"{named} of {len(keys)} functions were named.")
    return SymbolicateResult(
        maps=maps,
        map_bytes=sum(file.size_bytes for file in files if file.path.endswith(".map")),
        funcs=len(keys),
        upload_s=stored - begun,
        label_s=done - stored,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        child_peak_mb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    )
