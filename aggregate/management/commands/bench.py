"""`bench core`, `bench end-to-end` and `bench hidden`: the numbers of docs/benchmarks.md."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from aggregate.bench.core import bench_core
from aggregate.bench.end_to_end import bench_end_to_end
from aggregate.bench.hidden import compare_with_facts, describe, measure_hidden

CORPUS = Path(settings.BASE_DIR) / "tests" / "data" / "corpus.jsonl.gz"
CDP_FACTS = CORPUS.parent / "edge" / "stackless-vs-cdp.facts.json"


class Command(BaseCommand):
    help = "Measure Fieldflame on this machine. Compare ratios within one run: machines differ and are shared."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=["core", "end-to-end", "hidden"])
        parser.add_argument("--corpus", type=Path, default=CORPUS, help="recorded traces (default: the project's own)")
        parser.add_argument("--rounds", type=int, default=5, help="core: rounds (default: %(default)s)")
        parser.add_argument("--traces", type=int, default=3000, help="end-to-end: how many (default: %(default)s)")
        parser.add_argument("--senders", type=int, default=8, help="end-to-end: connections (default: %(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["corpus"].exists():
            raise CommandError(f"{options['corpus']} is not there; name recorded traces by --corpus.")
        if options["what"] == "core":
            self.show_core(options)
        elif options["what"] == "hidden":
            self.show_hidden(options)
        else:
            self.show_end_to_end(options)

    def show_core(self, options: dict[str, Any]) -> None:
        result = bench_core(options["corpus"], options["rounds"])
        self.stdout.write(
            f"{result.traces} traces, {result.body_bytes / 1e6:.1f} MB, one core, medians of {options['rounds']}\n"
            f"  gunzip and decode only   {result.decode_per_s:9,.0f} traces/s\n"
            f"  with every check         {result.check_per_s:9,.0f} traces/s\n"
            f"  fold to hotspots, trees  {result.fold_per_s:9,.0f} traces/s\n"
            f"  fold / decode only       {result.ratio:9.1%}"
        )

    def show_hidden(self, options: dict[str, Any]) -> None:
        pages = measure_hidden(options["corpus"])
        facts = json.loads(CDP_FACTS.read_text(encoding="utf-8"))["facts"] if CDP_FACTS.exists() else []
        self.stdout.write(describe(pages, compare_with_facts(pages, facts)))

    def show_end_to_end(self, options: dict[str, Any]) -> None:
        result = bench_end_to_end(options["corpus"], options["traces"], options["senders"])
        lost = result.sent - result.folded - result.rejected
        self.stdout.write(
            f"{result.sent} posts of one trace from {options['senders']} connections on this machine\n"
            f"  folded {result.folded}, rejected {result.rejected}, lost {lost}\n"
            f"  accepted  {result.sent / result.post_s:7.0f} traces/s, answer p50 {result.accept_p50_ms:.1f} ms, "
            f"p99 {result.accept_p99_ms:.1f} ms\n"
            f"  folded    {result.sent / result.total_s:7.0f} traces/s, from the first post to the last fold\n"
            f"  the largest worker process peaked at {result.worker_peak_mb:.0f} MB"
        )
        if lost:
            raise CommandError("Traces were lost.")
