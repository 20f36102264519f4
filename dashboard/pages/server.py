"""The page "Server": what the doctor finds about this server. Only superusers see it."""

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from aggregate.doctor.findings import DoctorReport, State
from aggregate.doctor.server.examining import examine_server
from dashboard.web.access import is_superuser
from dashboard.web.decorators import private_page

# Each look asks all workers and waits a second for them: reloads within this time share one.
KEPT_S: Final = 10.0
WORST_FIRST: Final = (State.PROBLEM, State.WARNING, State.SKIPPED, State.OK)


@dataclass(slots=True)
class KeptReport:
    """The last report of this process. While one thread looks, others wait for what it finds."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    report: DoctorReport | None = None
    looked_at: datetime | None = None
    valid_until_s: float = 0.0

    def read(self) -> tuple[DoctorReport, datetime]:
        """Returns the report, and when it was made."""
        with self.lock:
            if self.report is None or self.looked_at is None or time.monotonic() >= self.valid_until_s:
                self.report, self.looked_at = examine_server(), datetime.now(UTC)
                self.valid_until_s = time.monotonic() + KEPT_S
            return self.report, self.looked_at


KEPT: Final = KeptReport()


@private_page
def show_server(request: HttpRequest) -> HttpResponse:
    if not is_superuser(request.user):
        raise Http404("There is no such page.")
    report, looked_at = KEPT.read()
    findings = sorted(report.findings, key=lambda finding: WORST_FIRST.index(finding.state))
    context = {"report": report, "findings": findings, "looked_at": looked_at}
    return render(request, "dashboard/server/page.html", context)
