"""`./run doctor`: its text, its JSON, and its exit status."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from types import ModuleType

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from aggregate.doctor.findings import DoctorReport, Finding, ok, problem, warning
from aggregate.doctor.server import settings_checks
from aggregate.doctor.server.settings_checks import check_kernel
from aggregate.management.commands import doctor as doctor_command
from profcore.kernel import LoadedKernel
from projects.models import Project
from tests.aggregate.doctor.site import VisitedSite

TAG = "<script src=/snippet.js data-key=shop-key data-release=1.0.0></script>"


def run(*arguments: str) -> tuple[str, str]:
    """Returns what the command prints, and its error."""
    out, error = StringIO(), ""
    try:
        call_command("doctor", *arguments, stdout=out)
    except CommandError as raised:
        error = f"{raised} Status {raised.returncode}."
    return out.getvalue(), error


@pytest.mark.usefixtures("doctor", "shop")
def test_a_good_page_ends_with_status_0(site: VisitedSite) -> None:
    site.set_page(f"<head>{TAG}")
    text, error = run(f"{site.origin}/", "--key", "shop-key")
    assert error == ""
    assert "ok       key: The key is active." in text


@pytest.mark.usefixtures("shop")
def test_problems_end_with_status_1_and_the_line_to_add(
    doctor: Callable[..., dict[str, Finding]], site: VisitedSite
) -> None:
    site.set_page(f"<head>{TAG}", [])
    text, error = run(f"{site.origin}/")
    assert error == "1 problem. Status 1."
    assert "problem  header: The page comes without Document-Policy" in text
    assert "→ Document-Policy: js-profiling, js-profiling-mode=lazy" in text


@pytest.mark.usefixtures("doctor")
def test_json_has_all_findings(site: VisitedSite, shop: Project) -> None:
    site.set_page(f"<head>{TAG}", [])
    text, error = run(f"{site.origin}/", "--json")
    report = json.loads(text)
    assert error == "1 problem. Status 1."
    assert report["problems"] == 1
    assert report["final_url"] == f"{site.origin}/"
    assert {"check", "state", "sentence", "line", "about"} == set(report["findings"][0])


@pytest.mark.parametrize("arguments", [(), ("https://shop.example/", "--server")])
def test_it_looks_at_a_page_or_at_the_server(arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == ("", "Give the address of a page, or --server. Status 1.")


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ([ok("a", "A.")], ""),
        ([ok("a", "A."), warning("b", "B.")], "1 warning. Status 1."),
        ([problem("a", "A."), warning("b", "B."), problem("c", "C.")], "2 problems. Status 2."),
    ],
)
def test_the_server_has_a_status_for_warnings_too(
    monkeypatch: pytest.MonkeyPatch, findings: list[Finding], status: str
) -> None:
    report = DoctorReport(url="this server", final_url="this server", findings=findings)
    monkeypatch.setattr(doctor_command, "examine_server", lambda: report)
    assert run("--server")[1] == status
    text, error = run("--server", "--json")
    assert ([one["check"] for one in json.loads(text)["findings"]], error) == ([one.check for one in findings], status)


def read_kernel() -> tuple[str, str, str]:
    (finding,) = check_kernel(datetime.now(UTC))
    return finding.state.value, finding.sentence, finding.line


def test_the_server_folds_by_the_twin_that_is_chosen(settings: Settings) -> None:
    settings.KERNEL = "pure"
    assert read_kernel() == (
        "ok",
        "Traces are folded and checked by pure Python, because FIELDFLAME_KERNEL is pure.",
        "",
    )


def test_the_server_says_why_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = LoadedKernel(None, "the compiled kernel is not installed")
    monkeypatch.setattr(settings_checks, "find_kernel", lambda _: missing)
    state, sentence, line = read_kernel()
    assert (state, line) == ("warning", "./run kernel")
    assert sentence.startswith("Traces are folded and checked by pure Python")
    assert sentence.endswith("the compiled kernel is not installed.")


def test_the_server_says_that_it_has_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_checks, "find_kernel", lambda _: LoadedKernel(ModuleType("kernel"), ""))
    assert read_kernel() == ("ok", "Traces are folded and checked by the compiled kernel.", "")
