"""A project in two releases: `slow` costs 50 ms more a view in the second, `steady` as much, one came and one went."""

from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.envelopes import TIME_ORIGIN_MS, make_envelope

VIEWS = 30  # a release and page
VIEWS_OF_AN_HOUR = 6  # one round of their kinds
HOUR_MS = 3_600_000
OLD, NEW = "1.0.0", "1.1.0"


def make_lab(*, pages: tuple[str, ...] = ("/cart",), views: int = VIEWS) -> Project:
    """Makes the project `lab` with its views folded; on pages but the first nothing changed."""
    project, _ = create_project(slug="lab", key="lab-key", origins=["*"])
    for release in (OLD, NEW):
        for page in pages:
            post_views(release, page, views, is_slow=release == NEW and page == pages[0])
    fold_all()
    return project


def post_views(release: str, page: str, views: int, *, is_slow: bool) -> None:
    """Posts views of a page; one in three from a phone."""
    envelopes = []
    for number in range(views):
        columns = ["main slow"] * ((6 if is_slow else 1) + number % 2) + ["main steady"] * (1 + number % 3)
        columns += ["main came" if is_slow else "main went"] * 3
        device = {"mobile": number % 3 == 0, "cores": 8}
        envelope = make_envelope(
            f"{release}-{page}-{number}",
            "\n".join(columns),
            release=release,
            page=page,
            device=device,
            timeOrigin=TIME_ORIGIN_MS + number // VIEWS_OF_AN_HOUR * HOUR_MS,
        )
        for frame in envelope["trace"]["frames"]:
            frame["column"] = len(frame["name"])  # so that a function is where it was in the other release
        envelopes.append(envelope)
    post("lab-key", *envelopes)
