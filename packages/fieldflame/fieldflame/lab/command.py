"""The command `lab`: asks for both sides of the lab, for the field, and for earlier releases."""

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fieldflame.answers import read_names, read_views
from fieldflame.clean import clean
from fieldflame.exits import CommandError, Exit, UsageError
from fieldflame.files import write_file
from fieldflame.lab.costs import Compared, FieldTable, read_compared, read_field
from fieldflame.lab.estimates import Agreement, Estimate, Guess, estimate, is_moved, measure_agreement, total
from fieldflame.lab.profiles import compare_profiles
from fieldflame.lab.report import LabReport, write_lab_markdown, write_lab_text
from fieldflame.numbers import write_ms
from fieldflame.server import Server

KINDS: Final = {
    "phones": ("mobile", "mobile-low", "mobile-high"),
    "desktops": ("desktop", "desktop-low", "desktop-high"),
}
MEASURE: Final = ("measure", "self+hidden")
LEAST_VIEWS: Final = 25  # of the field: as the server needs for an interval
# The newest release with fewer of the field's page views may be a preview, or made up by someone.
LEAST_PART: Final = 0.01
RECENT_DAYS: Final = 28
# The functions with the most time; what has less than those would not be seen if it doubled.
MAX_FUNCTIONS: Final = 2_000
MAX_PAST: Final = 20


def run_lab(field: Server, lab: Server | None, options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Prints the estimate and writes the files; returns the exit code."""
    limit_ms = None if options.fail_over is None else read_ms(options.fail_over)
    if not 0 <= options.past <= MAX_PAST:
        raise UsageError(f"--past must be a number from 0 to {MAX_PAST}.")
    pages = [("page", page) for page in options.page]
    compared = compare_lab(lab, options, pages)
    if compared.is_too_few:
        base, head = compared.views
        print(f"Fieldflame: the lab has {base:,} and {head:,} page views; it needs 20 of each release.")
        return Exit.TOO_FEW
    release = choose_release(field, options.base, options.release)
    tables = {kind: ask_field(field, release, devices, pages) for kind, devices in KINDS.items()}
    known = {kind: table for kind, table in tables.items() if table is not None}
    if not known:
        print(f"Fieldflame: {clean(release)} has fewer than {LEAST_VIEWS} page views of phones, and of desktops.")
        return Exit.TOO_FEW
    agreement = ask_agreement(field, lab, options, pages)
    estimates = estimate(compared, known, agreement.allowance)
    sums, has_moved = total(estimates), is_moved(compared)
    report = LabReport(field.project, release, estimates, sums, agreement, has_moved)
    print(write_lab_text(report), flush=True)
    code, result = judge(estimates, sums, limit_ms, has_moved=has_moved)
    print(f"Result: {result} (exit code {int(code)}).")
    if options.markdown is not None:
        write_file(options.markdown, write_lab_markdown(report), environment)
    if options.json is not None:
        answer = encode(report, compared)
        write_file(options.json, json.dumps(answer, indent=2) + "\n", environment)
    return code


def compare_lab(lab: Server | None, options: argparse.Namespace, pages: list[tuple[str, str]]) -> Compared:
    """Returns both sides of the lab: of two releases of its project, or of files. Raises `CommandError`."""
    if lab is None:
        if not options.base_profile or not options.head_profile:
            raise UsageError("Name the lab's project with --lab-project, or files with --base-profile, --head-profile.")
        return compare_profiles(options.base_profile, options.head_profile)
    if options.base is None:
        raise UsageError("--lab-project needs --base, the release that the lab recorded before.")
    return ask_compared(lab, options.base, options.release, pages)


def ask_compared(server: Server, base: str, head: str, pages: list[tuple[str, str]]) -> Compared:
    """Returns the comparison of two releases of a project."""
    return read_compared(server.get("compare", [("base_release", base), ("head_release", head), MEASURE, *pages]))


def ask_field(field: Server, release: str, devices: tuple[str, ...], pages: list[tuple[str, str]]) -> FieldTable | None:
    """Returns the functions of a kind of device; None with too few page views of it."""
    device_params = [("device", device) for device in devices]
    params = [("release", release), *device_params, MEASURE, ("limit", str(MAX_FUNCTIONS)), *pages]
    answer = field.get("functions", params)
    return read_field(answer) if answer.get("views", 0) >= LEAST_VIEWS else None


def choose_release(field: Server, wanted: str | None, tested: str) -> str:
    """Returns the release whose field times are used: the base, or else the newest that users really have.

    It has at least `LEAST_PART` of the page views that the most used release has in the last days, in all if there are
    none, and is not the one that is tested. A part of all page views would be too much where there are many releases.
    """
    names = read_names(field.get("releases"))
    views = read_views(field.get("overview", [("by", "release")]))
    if wanted is not None and views.get(wanted, 0) >= LEAST_VIEWS and wanted in names:
        return wanted
    since = datetime.now(UTC) - timedelta(days=RECENT_DAYS)
    recent = read_views(field.get("overview", [("by", "release"), ("from", since.strftime("%Y-%m-%d"))])) or views
    least = max(LEAST_VIEWS, LEAST_PART * max(recent.values(), default=0))
    for name in names:
        if name not in ("(other)", tested) and recent.get(name, 0) >= least:
            return name
    raise CommandError("The field has no release with enough page views.")


def ask_agreement(
    field: Server, lab: Server | None, options: argparse.Namespace, pages: list[tuple[str, str]]
) -> Agreement:
    """Returns how well the lab foretold the field on the releases that both had before."""
    if lab is None or not options.past:
        return measure_agreement([])
    in_field = set(read_names(field.get("releases")))
    past = [name for name in read_names(lab.get("releases")) if name in in_field and name != options.release]
    pairs = list(zip(past[1:], past, strict=False))[: options.past]
    compared = [(ask_compared(lab, *pair, pages), ask_compared(field, *pair, pages)) for pair in pairs]
    return measure_agreement(compared)


def judge(
    estimates: Sequence[Estimate], sums: Mapping[str, Guess], limit_ms: float | None, *, has_moved: bool
) -> tuple[Exit, str]:
    """Returns the exit code and its word.

    Only an estimate that is over the bound with its whole interval fails, and only if the lab's page views as a whole
    changed too.
    """
    if estimates and not sums:
        return Exit.TOO_FEW, "the field knows none of the functions that changed"
    over = [kind for kind, guess in sums.items() if limit_ms is not None and guess.ci95[0] > limit_ms]
    if over and limit_ms is not None:
        sentence = f"the estimate is over {write_ms(limit_ms)} on {' and '.join(over)}"
        return (Exit.OK, f"{sentence}, but may only have moved") if has_moved else (Exit.WORSE, sentence)
    return Exit.OK, "estimated" if estimates else "no function changed in the lab"


def read_ms(text: str) -> float:
    """Returns the milliseconds of `50ms` or `50`. Raises `UsageError`."""
    try:
        ms = float(text.removesuffix("ms").strip())
    except ValueError:
        ms = -1.0
    if not 0 <= ms < 1e9:
        raise UsageError(f"--fail-over must be a time per view such as 50ms; not {text[:40]!r}.")
    return ms


def encode(report: LabReport, compared: Compared) -> dict[str, Any]:
    """Returns the estimate for programs."""
    agreement = report.agreement

    def encode_guess(guess: Guess) -> dict[str, object]:
        return {"delta_ms_per_view": guess.ms, "ci95": guess.ci95, "is_own_factor": guess.is_own}

    return {
        "is_estimate": True,
        "field_release": report.release,
        "functions": [
            {
                "label": estimated.change.name.label,
                "source": estimated.change.name.source or None,
                "lab_base_ms": estimated.change.base_ms,
                "lab_head_ms": estimated.change.head_ms,
                "field": {kind: encode_guess(guess) for kind, guess in estimated.guesses.items()},
            }
            for estimated in report.estimates
        ],
        "lab_page_view_delta_ci95": compared.whole_ci95,
        "may_have_moved": report.has_moved,
        "together": {kind: encode_guess(guess) for kind, guess in report.sums.items()},
        "agreement": {
            "releases": agreement.releases,
            "functions": agreement.functions,
            "same_way": agreement.same_way,
            "median_ratio": agreement.middle,
            "middle_half": agreement.middle_half,
            "allowance": agreement.allowance,
        },
    }
