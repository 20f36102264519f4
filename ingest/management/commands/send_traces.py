"""`send_traces FILE… --key KEY --url URL`: posts envelopes to an endpoint, with a progress bar."""

import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from ingest.sending import SendError, group_lines, post_lines, read_lines


class Command(BaseCommand):
    help = "Post envelopes (NDJSON, a JSON array or one object; gzip or not) to an endpoint."
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--key", required=True, help="the project's public key")
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="the endpoint's address (default: %(default)s)"
        )
        parser.add_argument("--batch", type=int, default=50, help="envelopes per post (default: %(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        url = f"{options['url'].rstrip('/')}/ingest/v1/traces?{urlencode({'key': options['key']})}"
        accepted, rejected = 0, 0
        for path in options["files"]:
            try:
                lines = list(read_lines(path))
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise CommandError(f"{path} cannot be read: {error}.") from None
            with tqdm(total=len(lines), unit="trace", desc=path.name) as bar:
                for batch in group_lines(iter(lines), options["batch"], 4 * 2**20):
                    try:
                        report = post_lines(url, batch)
                    except SendError as error:
                        raise CommandError(f"{error} {accepted} traces had been accepted.") from None
                    accepted += report.accepted
                    rejected += len(report.rejected)
                    for refusal in report.rejected:
                        self.stderr.write(f"{path.name}: {refusal['reason']} at {refusal['path']}: {refusal['detail']}")
                    bar.update(len(batch))
        self.stdout.write(f"{accepted} accepted, {rejected} rejected")
        if rejected:
            raise CommandError(f"{rejected} traces were rejected.")
