"""How far the refold is that newer rules started in the background."""

from dataclasses import dataclass

from aggregate.models import RefoldRun
from profcore.sums.fold import FOLD_VERSION


@dataclass(frozen=True, slots=True)
class RefoldProgress:
    """Cells of a background refold that is not finished: those that are done or kept, of all."""

    done: int
    total: int
    is_paused: bool


def select_refold(project_id: int) -> RefoldProgress | None:
    """Returns the progress of a project's background refold, None if none is under way."""
    run = RefoldRun.objects.filter(
        project_id=project_id, is_background=True, finished_at=None, fold_version=FOLD_VERSION
    ).first()
    if run is None:
        return None
    return RefoldProgress(run.cells + run.kept_cells, run.total_cells or 0, run.paused_at is not None)
