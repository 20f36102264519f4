"""What the doctor checks about this server itself."""

from collections.abc import Iterator

from django.conf import settings

from aggregate.doctor.findings import DoctorReport, Finding, ok, warning
from profcore.kernel import KernelChoice, find_kernel


def examine_server() -> DoctorReport:
    """Returns what was found about this server."""
    return DoctorReport(url="this server", final_url="this server", findings=list(check_kernel()))


def check_kernel() -> Iterator[Finding]:
    """Yields whether processes that start now fold and check by the compiled kernel, and if not, why."""
    found = find_kernel(settings.KERNEL)
    if found.module is not None:
        yield ok("kernel", "Traces are folded and checked by the compiled kernel.")
    elif settings.KERNEL == KernelChoice.PURE:
        yield ok("kernel", f"Traces are folded and checked by pure Python, because {found.why_pure}.")
    else:
        yield warning(
            "kernel",
            f"Traces are folded and checked by pure Python, which takes several times as long: {found.why_pure}.",
            line="./run kernel",
        )
