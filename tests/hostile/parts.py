"""The parts of the fuzzer: for each, how its inputs are made, and what an input must not do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis.strategies import SearchStrategy

from profcore.kernel import find_kernel
from tests.hostile import core_parts, read_parts, write_parts
from tests.hostile.cases import BodyCase
from tests.hostile.grammars import archives, display, patterns, recordings, sdks, sources, written_maps
from tests.hostile.lab import Lab
from tests.profcore.twins import posted_bodies
from tests.profcore.twins.comparing import SentBody, SentTrace, compare_twins


@dataclass(frozen=True, slots=True)
class Part:
    """Inputs of one kind. `check` raises for one that does harm. Every run of the tests tries so many `examples`."""

    cases: SearchStrategy[Any]  # Any: the case of the part
    check: Callable[[Lab, Any], None]
    examples: int


def check_envelope(case: BodyCase) -> None:
    """Checks what an envelope costs, and that both twins of the kernel answer alike."""
    core_parts.check_envelope_cost(case)
    if find_kernel().module is not None:
        posted_bodies.compare(case.body, core_parts.LIMITS)
        compare_twins([SentTrace(SentBody(case.body))], core_parts.LIMITS)


PARTS: Final[dict[str, Part]] = {
    "envelopes": Part(core_parts.ENVELOPES, lambda _, case: check_envelope(case), 120),
    "importers": Part(core_parts.FILES, lambda _, case: core_parts.check_import_cost(case), 150),
    "maps": Part(core_parts.MAPS, lambda _, case: core_parts.check_map_cost(case), 150),
    "posts": Part(core_parts.POSTS, read_parts.check_post, 15),
    "queries": Part(read_parts.QUERIES, read_parts.check_read, 60),
    "forms": Part(write_parts.FORMS, write_parts.check_form, 60),
    "written-maps": Part(written_maps.WRITTEN_MAPS, lambda _, case: written_maps.check_written_map(case), 100),
    "sources": Part(sources.SOURCES, lambda _, case: sources.check_source(case), 100),
    "patterns": Part(patterns.PATTERNS, lambda _, case: patterns.check_pattern(case), 200),
    "display": Part(display.DISPLAYS, lambda _, case: display.check_display(case), 200),
    "recordings": Part(recordings.RECORDINGS, lambda _, case: recordings.check_recording(case), 60),
    "archives": Part(archives.ARCHIVES, lambda _, case: archives.check_archive(case), 100),
    "multiparts": Part(archives.MULTIPARTS, archives.check_multipart, 30),
    "sdks": Part(sdks.ENVELOPES, sdks.check_sdk_envelope, 30),
}
