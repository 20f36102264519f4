"""The fault of `tarfile` is named for the Pythons that have it, at the start and by the doctor."""

import sys
import tarfile
from datetime import UTC, datetime

import pytest

from aggregate.doctor.server.settings_checks import check_versions
from aggregate.sourcemaps.tar_fault import describe_tar_fault

FIX = "_header_length_prefix_re"


@pytest.fixture
def old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 12, 5))
    monkeypatch.delattr(tarfile, FIX, raising=False)


@pytest.mark.usefixtures("old_python")
def test_a_python_with_the_fault_is_told_which_versions_have_the_fix() -> None:
    assert describe_tar_fault().endswith("(CVE-2024-6232); 3.11.10, 3.12.6 and 3.13 have the fix.")


@pytest.mark.usefixtures("old_python")
def test_a_python_that_its_distribution_has_fixed_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tarfile, FIX, object(), raising=False)
    assert describe_tar_fault() == ""


@pytest.mark.usefixtures("old_python")
def test_newer_pythons_never_had_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    assert describe_tar_fault() == ""


@pytest.mark.django_db
@pytest.mark.usefixtures("old_python")
def test_the_doctor_warns_of_it() -> None:
    warnings = [finding.sentence for finding in check_versions(datetime.now(UTC)) if finding.state.value == "warning"]
    assert describe_tar_fault() in warnings
