"""`./run doctor`: its text, its JSON, and its exit status."""

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from aggregate.doctor.findings import Finding
from ingest.models import Project
from tests.aggregate.doctor.site import VisitedSite

TAG = "<script src=/snippet.js data-key=shop-key data-release=1.0.0></script>"


def run(*words: str) -> tuple[str, str]:
    """Returns what the command prints, and its error."""
    out, error = StringIO(), ""
    try:
        call_command("doctor", *words, stdout=out)
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
