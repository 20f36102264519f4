"""What `bench` may be told: each option says for which parts."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandParser

from bench.giant.command import add_giant_arguments
from bench.guard.command import add_guard_arguments
from bench.heavy import SIZES
from bench.hosts.command import add_hosts_arguments
from bench.lab.command import add_lab_arguments
from bench.soak.command import add_soak_arguments

CORPUS = Path(settings.BASE_DIR) / "tests" / "data" / "corpus.jsonl.gz"
ROUNDS = 5
SAMPLES = 200
PROJECTS = 200


def add_bench_arguments(parser: CommandParser) -> None:
    """Adds all options."""
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="recorded traces (default: the project's own)")
    parser.add_argument(
        "--kind", choices=["corpus", *SIZES], default="corpus", help="core, end-to-end, profile: which traces"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        help=f"core, queries, pages: rounds (default: {ROUNDS}); statistics: samples per row ({SAMPLES}); "
        f"guard: projects ({PROJECTS})",
    )
    parser.add_argument(
        "--traces", type=int, default=3000, help="end-to-end, profile, memory --whole: how many (%(default)s)"
    )
    parser.add_argument(
        "--senders", type=int, default=8, help="end-to-end, profile, memory: connections (default: %(default)s)"
    )
    parser.add_argument("--visits", type=int, default=100, help="exits: how many (default: %(default)s)")
    parser.add_argument("--at-a-time", type=int, default=4, help="exits: pages at once (default: %(default)s)")
    parser.add_argument("--loads", type=int, default=20, help="cohort: of each app and kind (default: %(default)s)")
    parser.add_argument("--apps", type=Path, help="cohort: a folder of apps, each with an index.html")
    parser.add_argument(
        "--chromium", default="chromium", help="exits, cohort, lab, screens: the browser (default: %(default)s)"
    )
    parser.add_argument("--py-spy", default="py-spy", help="profile: the sampler (default: %(default)s)")
    parser.add_argument(
        "--save",
        type=Path,
        help="profile, soak: a folder for what the sampler wrote, or for logs; curves-here: a file; history: a "
        "folder that keeps the database and the files, for a second run",
    )
    parser.add_argument("--stay", action="store_true", help="profile: run on, to look at the flame graphs")
    parser.add_argument("--batch", type=int, default=41, help="wal: traces folded at once (default: %(default)s)")
    parser.add_argument("--reads", type=int, default=1000, help="memory: how many (default: %(default)s)")
    parser.add_argument("--whole", action="store_true", help="memory: of all processes of a ./run, by part")
    parser.add_argument("--project", default="", help="export-here, fill-here, pages: which project")
    parser.add_argument("--format", default="firefox", help="export-here: which format")
    parser.add_argument("--maps", type=int, default=200, help="symbolicate: how many (default: %(default)s)")
    parser.add_argument("--funcs", type=int, default=100_000, help="symbolicate: in all (default: %(default)s)")
    parser.add_argument("--days", type=int, default=365, help="history: how many (default: %(default)s)")
    parser.add_argument("--nodes", type=int, default=500_000, help="trees: call nodes (default: %(default)s)")
    parser.add_argument(
        "--views",
        type=int,
        nargs="+",
        default=[10_000],
        help="queries, exports, memory, receipts, screens: number (default: %(default)s); curves: several numbers",
    )

    add_guard_arguments(parser)
    add_lab_arguments(parser)
    add_soak_arguments(parser)
    add_giant_arguments(parser)
    add_hosts_arguments(parser)
