"""Which test files run in one process: those that borrow the same running Fieldflame, whose start is the slow part."""

from typing import Final

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it has no types

TOGETHER: Final = (
    (
        "tests/e2e/test_demo_to_dashboard.py",
        "tests/acceptance/test_corpus_end_to_end.py",
        "tests/acceptance/test_job_kills.py",
        "tests/acceptance/test_source_maps.py",
        "tests/acceptance/verdict/test_verdict_corpus.py",
    ),
    ("tests/ops/supervisor/test_killed_parts.py", "tests/ops/supervisor/test_start_and_stop.py"),
)
FIRST_OF: Final = {file: files[0] for files in TOGETHER for file in files}


class TogetherScheduling(LoadFileScheduling):  # type: ignore[misc]  # as above
    """A file at a time, or some files that belong together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return FIRST_OF.get(file, file)
