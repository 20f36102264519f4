"""`bench …`: the numbers of docs/benchmarks.md, each by a command that anyone can run."""

import json
import shutil
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from aggregate.history.parquet import MISSING, is_installed
from bench.collection.cohort import bench_cohort
from bench.collection.cohort import describe as describe_cohort
from bench.collection.exits import bench_exits
from bench.collection.exits import describe as describe_exits
from bench.core import bench_core
from bench.corpus import read_corpus
from bench.curves.costs import measure_costs
from bench.curves.run import MOST_ROWS, Point, bench_curves
from bench.curves.run import as_json as curves_as_json
from bench.curves.run import describe as describe_curves
from bench.end_to_end import bench_end_to_end
from bench.end_to_end import describe as describe_end_to_end
from bench.exports import as_json, bench_exports, measure_export
from bench.exports import describe as describe_exports
from bench.giant.command import show_giant
from bench.guard.command import show_guard
from bench.heavy import make_heavy_envelope
from bench.hidden import compare_with_facts, describe, measure_hidden
from bench.history.run import bench_history
from bench.hostile.reads import bench_reads
from bench.hostile.reads import describe as describe_reads
from bench.hostile.shapes import bench_hostile
from bench.hosts.command import show_hosts
from bench.lab.command import show_lab
from bench.large_views import run as large_views
from bench.management.arguments import CORPUS, PROJECTS, ROUNDS, SAMPLES, add_bench_arguments
from bench.memory.web import addresses_as_json, bench_web_memory, make_addresses, measure_growth, prepare
from bench.memory.web import as_json as memory_as_json
from bench.memory.web import describe as describe_memory
from bench.memory.whole import bench_whole, describe_moment
from bench.profile.run import PATIENT, bench_profile, flame_graph_address
from bench.profile.run import describe as describe_profile
from bench.profile.sampling import find_py_spy
from bench.queries import bench_queries, fill_project
from bench.receipts.storing import bench_receipts, measure_receipts
from bench.scrape.run import bench_scrape, measure_scrape
from bench.screens.pages import bench_pages
from bench.screens.pages import describe as describe_pages
from bench.screens.paints import SLUG as SCREENS_SLUG
from bench.screens.paints import bench_paints
from bench.screens.paints import describe as describe_screens
from bench.sizes import bench_sizes
from bench.soak.command import show_soak
from bench.soak.history import store_history
from bench.statistics.coverage import list_coverage
from bench.statistics.discoveries import list_discoveries
from bench.statistics.peeking import list_peeking
from bench.statistics.tables import run_table
from bench.symbolicate import bench_symbolicate
from bench.trees import bench_trees, describe_tree
from bench.truth import describe_scores, read_recordings, score_recording
from bench.vitals import requests
from bench.wal import bench_wal, describe_wal, measure_here
from config.demo.loading import upload_maps
from config.up.running import run_stack
from ingest.door.limits import envelope_limits
from ingest.models import Project

TRUTH = CORPUS.parent / "truth.jsonl.gz"
CDP_FACTS = CORPUS.parent / "edge" / "stackless-vs-cdp.facts.json"
HEAVY_ENVELOPES = 60
VIEWS_A_CELL = (10, 100, 1000)


def find_program(name: str) -> str:
    """Returns the path of a program, and of the tests' package that drives it, or says what is missing."""
    path = shutil.which(name)
    if path is None:
        raise CommandError(f"There is no program {name}: install Chromium, or name another one by --chromium.")
    if find_spec("playwright") is None:
        raise CommandError("Playwright is missing: run ./test core once, which installs the tests' packages.")
    return path


class Command(BaseCommand):
    help = "Measure Fieldflame on this machine. Compare ratios within one run: machines differ and are shared."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=sorted(self.parts))
        add_bench_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["corpus"].exists():
            raise CommandError(f"{options['corpus']} does not exist; give recorded traces by --corpus.")
        if options["rounds"] is None:
            options["rounds"] = {"statistics": SAMPLES, "guard": PROJECTS}.get(options["what"], ROUNDS)
        if options["what"] != "curves":
            if len(options["views"]) > 1:
                raise CommandError("Give one number of views; only curves takes several.")
            (options["views"],) = options["views"]
        self.parts[options["what"]](self, options)

    def read_envelopes(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        if options["kind"] != "corpus":
            return [make_heavy_envelope(number, options["kind"]) for number in range(HEAVY_ENVELOPES)]
        return [envelope for _, envelope in read_corpus(options["corpus"])]

    def show_exits(self, options: dict[str, Any]) -> None:
        result = bench_exits(
            visits=options["visits"], chromium=find_program(options["chromium"]), at_a_time=options["at_a_time"]
        )
        self.stdout.write(describe_exits(result))

    def show_cohort(self, options: dict[str, Any]) -> None:
        if options["apps"] is None or not options["apps"].is_dir():
            raise CommandError("Give a folder of apps by --apps.")
        chromium = find_program(options["chromium"])
        loads = bench_cohort(apps=options["apps"], loads=options["loads"], chromium=chromium)
        self.stdout.write(describe_cohort(loads))

    def show_core(self, options: dict[str, Any]) -> None:
        result = bench_core(self.read_envelopes(options), options["rounds"])
        size = f"{result.traces} traces, {result.body_bytes / 1e6:.1f} MB"
        self.stdout.write(f"{size}, one core, medians of {options['rounds']}; share of decode only")
        for step in result.steps:
            self.stdout.write(f"  {step.name:34s} {step.per_s:9,.0f} traces/s {step.share:8.1%}")

    def show_history(self, options: dict[str, Any]) -> None:
        """Runs in a database of its own."""
        if not is_installed():
            raise CommandError(f"bench history: {MISSING}")
        bench_history(options["corpus"], options["views"], options["days"], options["save"], self.stdout.write)

    def show_hosts_here(self, options: dict[str, Any]) -> None:
        """Runs on hosts of its own, which it makes on this machine."""
        show_hosts(self.read_envelopes(options), options["corpus"], options, self.stdout.write)

    def show_hostile(self, options: dict[str, Any]) -> None:
        """The first reads run in a stack of their own."""
        head = (
            "shape                        sent  expanded    checks      fold  fold/byte  peak/byte: checks, fold"
            "  compiled: fold, of half as much"
        )
        self.stdout.write(head)
        for cost in bench_hostile(envelope_limits()):
            self.stdout.write(
                f"{cost.shape:24s} {cost.sent_bytes / 1e3:5,.0f} kB {cost.expanded_bytes / 1e6:6.1f} MB"
                f" {cost.check_s:7.2f} s {cost.fold_s:7.2f} s {cost.fold_us_per_byte:7.2f} µs"
                f" {cost.check_peak_bytes / cost.sent_bytes:15,.0f} B {cost.fold_peak_bytes / cost.sent_bytes:7,.0f} B"
                f" {cost.compiled_s:11.3f} s {cost.half_compiled_s:8.3f} s"
            )
        with run_stack() as stack:
            self.stdout.write("\n" + stack.manage("bench", "hostile-here"))

    def show_hostile_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given."""
        self.stdout.write(describe_reads(list(bench_reads(envelope_limits()))))

    def show_memory(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own. Its environment is that of this command, such as MALLOC_ARENA_MAX."""
        if options["whole"]:
            for moment in bench_whole(options["traces"], options["reads"], envelope_limits()):
                self.stdout.write(moment if isinstance(moment, str) else describe_moment(moment))
            return
        readers = [1, options["senders"]]
        for result in bench_web_memory(options["corpus"], options["views"], options["reads"], readers, {}):
            self.stdout.write(result if isinstance(result, str) else describe_memory(result))

    def show_memory_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given, and prints the growth and what to read as JSON."""
        project, client = prepare(options["corpus"], options["views"])
        addresses = make_addresses(project)
        self.stdout.write(memory_as_json(client, addresses, measure_growth(client, addresses, options["reads"])))

    def show_addresses_here(self, options: dict[str, Any]) -> None:
        """Prints what to read of a project of this database as JSON."""
        self.stdout.write(addresses_as_json(Project.objects.get(slug=options["project"])))

    def show_curves(self, options: dict[str, Any]) -> None:
        """Runs in databases of its own, one after another."""
        self.stdout.write(describe_curves(bench_curves(options["corpus"], options["views"], self.stdout.write)))

    def show_curves_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given, and deletes from it."""
        if options["save"] is None:
            raise CommandError("Name a file for the costs by --save.")
        rows, costs = measure_costs(options["corpus"], options["views"], MOST_ROWS)
        options["save"].write_text(curves_as_json(Point(options["views"], rows, costs)), encoding="utf-8")

    def show_end_to_end(self, options: dict[str, Any]) -> None:
        result = bench_end_to_end(self.read_envelopes(options), options["traces"], options["senders"])
        self.stdout.write(describe_end_to_end(result))
        if result.lost:
            raise CommandError("Traces were lost.")

    def show_giant(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        show_giant(self.read_envelopes(options), options, self.stdout.write)

    def show_profile(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        try:
            py_spy = find_py_spy(options["py_spy"])
        except LookupError as error:
            raise CommandError(str(error)) from error
        recorded, load = self.read_envelopes(options), {name: options[name] for name in ("traces", "senders")}
        with run_stack(PATIENT) as stack:
            try:
                result = bench_profile(stack, recorded, **load, py_spy=py_spy)
            except RuntimeError as error:
                raise CommandError(str(error)) from error
            describe_profile(result, self.stdout.write)
            if options["save"] is not None:
                options["save"].mkdir(parents=True, exist_ok=True)
                for part, body in result.files.items():
                    (options["save"] / f"{part}.speedscope.json").write_bytes(body)
            if options["stay"]:
                name, password = stack.login
                for part in result.files:
                    self.stdout.write(f"{part}: {flame_graph_address(stack, part)}")
                self.stdout.write(f"Log in as {name} with {password}. Press Enter to end it.")
                input()

    def show_sizes(self, options: dict[str, Any]) -> None:
        for result in bench_sizes(options["corpus"], VIEWS_A_CELL):
            share = result.bytes_a_trace / result.gzip_bytes
            self.stdout.write(
                f"{result.views_a_cell} views a cell, {result.traces} traces, gzip {result.gzip_bytes:.0f}"
            )
            self.stdout.write(
                f"  {result.bytes_a_trace:.0f} bytes a trace, {share:.0%} of its gzip ({result.gzip_bytes:.0f})"
            )
            for table, size in sorted(result.table_bytes.items(), key=lambda row: -row[1]):
                self.stdout.write(f"  {table:26} {size:8.1f}")

    def show_hidden(self, options: dict[str, Any]) -> None:
        pages = measure_hidden(options["corpus"])
        facts = json.loads(CDP_FACTS.read_text(encoding="utf-8"))["facts"] if CDP_FACTS.exists() else []
        self.stdout.write(describe(pages, compare_with_facts(pages, facts)))
        self.stdout.write("")
        self.stdout.write(describe_scores([score_recording(each) for each in read_recordings(TRUTH)]))

    def show_soak(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        show_soak(self.read_envelopes(options), options["corpus"], options, self.stdout.write)

    def show_soak_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given."""
        self.stdout.write(store_history(options["corpus"], options["traces"]))

    def show_queries(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        with run_stack() as stack:
            words = ["--views", str(options["views"]), "--rounds", str(options["rounds"])]
            self.stdout.write(stack.manage("bench", "queries-here", "--corpus", str(options["corpus"]), *words))

    def show_queries_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given."""
        views, results = bench_queries(options["corpus"], options["views"], options["rounds"])
        self.stdout.write(f"{views:,} views")
        for result in results:
            times = f"p50 {result.p50_ms:8.1f} ms   p95 {result.p95_ms:8.1f} ms   first {result.first_ms:8.1f} ms"
            self.stdout.write(f"  {result.question:60} {times}")

    def show_exports(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        with run_stack() as stack:
            words = ["--views", str(options["views"]), "--corpus", str(options["corpus"])]
            self.stdout.write(stack.manage("bench", "exports-here", *words))

    def show_exports_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given."""
        self.stdout.write(describe_exports(list(bench_exports(options["corpus"], options["views"]))))

    def show_export_here(self, options: dict[str, Any]) -> None:
        """Exports one project in this process, and prints the measures as JSON."""
        self.stdout.write(as_json(measure_export(options["project"], options["format"])))

    def show_pages(self, options: dict[str, Any]) -> None:
        """Requests the dashboard's pages about a project of this database, and changes nothing in it."""
        try:
            project = Project.objects.get(slug=options["project"])
            results = bench_pages(project, options["rounds"])
        except (Project.DoesNotExist, LookupError) as error:
            raise CommandError(f"--project must name a project that somebody may read: {error}") from error
        self.stdout.write(f"{project.slug}, medians of {options['rounds']}\n{describe_pages(results)}")

    def show_screens(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        chromium = find_program(options["chromium"])
        with run_stack() as stack:
            words = ["--views", str(options["views"]), "--corpus", str(options["corpus"])]
            self.stdout.write(stack.manage("bench", "fill-here", "--project", SCREENS_SLUG, *words))
            visits = list(bench_paints(stack, chromium=chromium, rounds=options["rounds"]))
        self.stdout.write(describe_screens(visits))

    def show_fill_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given."""
        _, written = fill_project(options["project"], options["corpus"], options["views"])
        self.stdout.write(f"{written:,} views")

    def show_symbolicate(self, options: dict[str, Any]) -> None:
        """Runs in a stack of its own."""
        with run_stack() as stack:
            words = ["--maps", str(options["maps"]), "--funcs", str(options["funcs"])]
            self.stdout.write(stack.manage("bench", "symbolicate-here", *words))

    def show_symbolicate_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given."""
        result = bench_symbolicate(options["maps"], options["funcs"])
        self.stdout.write(
            f"{result.funcs:,} functions of {result.maps} maps of {result.map_bytes / 1e6:.1f} MB in all\n"
            f"  checked and stored in {result.upload_s:.1f} s\n"
            f"  labelled in {result.label_s:.1f} s, {result.funcs / result.label_s:,.0f} functions/s\n"
            f"  peak {result.peak_mb:.0f} MB here, {result.child_peak_mb:.0f} MB in the largest process of a map"
        )

    def show_trees(self, options: dict[str, Any]) -> None:
        """Needs no database."""
        for result in bench_trees(options["nodes"]):
            self.stdout.write(describe_tree(result))

    def show_wal(self, options: dict[str, Any]) -> None:
        """Runs in a PostgreSQL of its own."""
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            for envelope in self.read_envelopes(options):
                file.write(json.dumps(envelope) + "\n")
            file.flush()
            result = bench_wal(Path(file.name), traces=options["traces"], batch=options["batch"])
        self.stdout.write(describe_wal(result))

    def show_wal_here(self, options: dict[str, Any]) -> None:
        """Fills the database this command was given, and prints what it did as JSON."""
        self.stdout.write(measure_here(options["corpus"], traces=options["traces"], batch=options["batch"]))

    def show_statistics(self, options: dict[str, Any]) -> None:
        """Needs no database. Takes minutes; two processes at most."""
        given = options["corpus"], options["rounds"]
        for table in [*list_coverage(*given), *list_discoveries(*given), *list_peeking(*given)]:
            self.stdout.write(run_table(table))

    parts: dict[str, Callable[["Command", dict[str, Any]], None]] = {
        "addresses-here": show_addresses_here,
        "cohort": show_cohort,
        "core": show_core,
        "curves": show_curves,
        "curves-here": show_curves_here,
        "demo-maps-here": lambda _self, options: upload_maps(Project.objects.get(slug=options["project"])),
        "end-to-end": show_end_to_end,
        "export-here": show_export_here,
        "exits": show_exits,
        "exports": show_exports,
        "exports-here": show_exports_here,
        "fill-here": show_fill_here,
        "giant": show_giant,
        "guard": lambda self, options: show_guard(options["corpus"], options, self.stdout.write),
        "hidden": show_hidden,
        "history": show_history,
        "hostile": show_hostile,
        "hostile-here": show_hostile_here,
        "hosts": show_hosts_here,
        "lab": lambda self, options: show_lab(options, lambda: find_program(options["chromium"]), self.stdout.write),
        "large-views": lambda self, _options: large_views.show_large_views(self.stdout.write),
        "large-views-fill-here": lambda _self, options: large_views.fill(options["project"]),
        "large-views-here": lambda self, options: self.stdout.write(
            large_views.as_json(large_views.measure_reads(options["project"]))
        ),
        "memory": show_memory,
        "memory-here": show_memory_here,
        "pages": show_pages,
        "profile": show_profile,
        "queries": show_queries,
        "queries-here": show_queries_here,
        "receipts": lambda command, options: command.stdout.write(bench_receipts(options["views"])),
        "receipts-here": lambda command, options: measure_receipts(options["views"], command.stdout.write),
        "scrape": lambda self, options: self.stdout.write(bench_scrape(options["views"])),
        "scrape-here": lambda self, options: self.stdout.write(measure_scrape(options["views"])),
        "screens": show_screens,
        "sizes": show_sizes,
        "soak": show_soak,
        "soak-here": show_soak_here,
        "statistics": show_statistics,
        "symbolicate": show_symbolicate,
        "symbolicate-here": show_symbolicate_here,
        "trees": show_trees,
        "vitals": lambda self, _options: requests.show_vitals(self.stdout.write),
        "vitals-fill-here": lambda self, options: requests.fill(options["project"]),
        "vitals-here": lambda self, options: self.stdout.write(
            requests.as_json(requests.measure_request(options["project"]))
        ),
        "wal": show_wal,
        "wal-here": show_wal_here,
    }
