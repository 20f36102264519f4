"""`doctor URL`: says what keeps a live page from being recorded. `doctor --server`: says how this server is."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from aggregate.doctor.examining import examine
from aggregate.doctor.findings import DoctorReport
from aggregate.doctor.server.examining import examine_server


class Command(BaseCommand):
    help = (
        "Look at a live page as a browser does, and say what keeps it from being recorded: header, policy, tag, key, "
        "scripts, source maps. Exit status: 0 no problems (there may be warnings), 1 problems. With --server, look at "
        "this server: settings, stores, disk, work. Exit status then: 0 all is well, 1 warnings, 2 problems."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "url", metavar="URL", nargs="?", help="the page's address, such as https://shop.example/cart"
        )
        parser.add_argument("--key", default="", help="the public key that the page's tag should have")
        parser.add_argument("--server", action="store_true", help="look at this server instead of a page")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        if (options["url"] is None) != options["server"]:
            raise CommandError("Give the address of a page, or --server.")
        report = examine_server() if options["server"] else examine(options["url"], key=options["key"])
        if options["json"]:
            self.stdout.write(json.dumps(write_report(report), indent=2, ensure_ascii=False))
        else:
            self.stdout.write(f"{report.final_url}\n")
            for finding in report.findings:
                self.stdout.write(f"{finding.state:<8} {finding.check}: {finding.sentence}")
                for url in finding.about:
                    self.stdout.write(f"           {url}")
                if finding.line:
                    self.stdout.write(f"         → {finding.line}")
        if report.problems:
            code = 2 if options["server"] else 1
            raise CommandError(f"{report.problems} problem{'s' if report.problems > 1 else ''}.", returncode=code)
        if report.warnings and options["server"]:
            raise CommandError(f"{report.warnings} warning{'s' if report.warnings > 1 else ''}.", returncode=1)


def write_report(report: DoctorReport) -> dict[str, object]:
    """Returns a report for JSON."""
    return asdict(report) | {"problems": report.problems, "warnings": report.warnings}
