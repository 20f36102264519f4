"""The command `fieldflame`: `check`, `announce`, `lab`, `review`, `mcp` and `lsp`."""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx

from fieldflame.answers import read_rollback
from fieldflame.arguments import make_parser, read_address
from fieldflame.builds import Build, read_build
from fieldflame.clean import clean
from fieldflame.exits import CommandError, DeniedError, Exit, UsageError
from fieldflame.files import write_file
from fieldflame.lab.command import run_lab
from fieldflame.outcome import Outcome, judge
from fieldflame.question import FILTERS, Question, read_duration, read_fail_on, read_percent
from fieldflame.reports.junit import write_junit
from fieldflame.reports.markdown import write_markdown
from fieldflame.reports.text import write_text
from fieldflame.review.command import run_review
from fieldflame.server import Server, check_token, check_url
from fieldflame.waiting import Clock, ask, check_base


def run() -> None:
    """Runs the command of this process, and leaves it with its exit code."""
    sys.exit(main())


def main(
    arguments: Sequence[str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    transport: httpx.BaseTransport | None = None,
    clock: Clock | None = None,
) -> int:
    """Runs the command and returns its exit code. A crash is never taken for an answer about the release."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # a build's log may say that it is ASCII
    known = os.environ if environment is None else environment
    try:
        options = make_parser().parse_args(arguments)
        if options.command in ("mcp", "lsp"):
            return serve(options, known)
        server = connect(options, known, transport, clock)
        try:
            if options.command == "announce":
                return announce(server, options, known)
            if options.command == "review":
                return run_review(server, options, known)
            if options.command == "lab":
                return lab(server, options, known, transport, clock)
            return check(server, options, known, clock)
        finally:
            server.close()
    except CommandError as error:
        print(f"fieldflame: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        # Not the message, which may hold anything: only where it happened.
        places = traceback.extract_tb(error.__traceback__)
        where = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else "?"
        print(f"fieldflame: a fault of this command ({type(error).__name__} at {where}).", file=sys.stderr)
        return Exit.CRASHED


def find_url(options: argparse.Namespace, environment: Mapping[str, str]) -> str:
    """Returns the server's address. Raises `UsageError`."""
    url = options.url or environment.get("FIELDFLAME_URL", "")
    if not url:
        raise UsageError("Say where the server is: set FIELDFLAME_URL, or use --url.")
    return check_url(url)


def serve(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Serves an assistant or an editor until it leaves. Raises `UsageError` or `DeniedError` at once."""
    url, token, http = find_url(options, environment), environment.get("FIELDFLAME_TOKEN"), None
    if options.command == "mcp" and options.http is not None:
        http = read_address(options.http)
    elif token is None:
        raise DeniedError("Set FIELDFLAME_TOKEN to a token of the project with the scope read.")
    else:
        check_token(token)
    try:  # the packages of an extra
        if options.command == "lsp":
            from fieldflame.lsp.serving import serve as serve_editor
        else:
            from fieldflame.mcp.serving import serve as serve_assistants
    except ModuleNotFoundError as error:
        extra = options.command
        raise UsageError(f"{extra} needs the package {error.name}: install fieldflame[{extra}].") from None
    if options.command == "lsp":
        serve_editor(url, options.project, token or "")
    else:
        serve_assistants(url, options.project, token, http)
    return Exit.OK


def connect(
    options: argparse.Namespace,
    environment: Mapping[str, str],
    transport: httpx.BaseTransport | None,
    clock: Clock | None,
) -> Server:
    """Returns the server that is asked. Raises `UsageError` or `DeniedError`."""
    url = find_url(options, environment)
    token = environment.get("FIELDFLAME_TOKEN")
    if token is None:
        raise DeniedError("Set FIELDFLAME_TOKEN to a token of the project, as a secret of the build.")
    used = (clock or Clock()).sleep
    server = Server(url, options.project, token, transport=transport, sleep=used)
    if server.is_plain:
        print("fieldflame: the token goes to the server unencrypted. Use https.", file=sys.stderr)
    return server


def check(
    server: Server, options: argparse.Namespace, environment: Mapping[str, str], clock: Clock | None = None
) -> int:
    """Asks for the verdict, prints it and writes the files; returns the exit code."""
    question = Question(
        release=options.release,
        base=options.base,
        filters=tuple((name, value) for name in FILTERS for value in getattr(options, name)),
        fail_on=read_fail_on(options.fail_on),
        wait_s=read_duration(options.wait),
        see=None if options.see is None else read_percent(options.see),
    )
    check_base(server, question)
    outcome = judge(question, ask(server, question, lambda line: print(line, flush=True), clock))
    link = link_of(server, outcome)
    print(write_text(outcome, server.project, link), flush=True)
    write_files(outcome, options, environment, project=server.project, link=link)
    return outcome.code


def link_of(server: Server, outcome: Outcome) -> str:
    """Returns the dashboard's page that shows the same."""
    verdict, filters = outcome.verdict, list(outcome.question.filters)
    if verdict.base is None or verdict.head is None:
        return server.link("")
    leading = verdict.leading.page
    if leading is not None:
        filters = [("page", leading), *((name, value) for name, value in filters if name != "page")]
    return server.link("compare/", [("base_release", verdict.base), ("head_release", verdict.head), *filters])


def write_files(
    outcome: Outcome, options: argparse.Namespace, environment: Mapping[str, str], *, project: str, link: str
) -> None:
    """Writes the files that were asked for. Raises `UsageError` for one that cannot be written."""
    texts: list[tuple[str | None, Callable[[], str]]] = [
        (options.junit, lambda: write_junit(outcome, project, link)),
        (options.markdown, lambda: write_markdown(outcome, project, link)),
        (options.json, lambda: json.dumps(outcome.verdict.answer, indent=2, ensure_ascii=False) + "\n"),
    ]
    for name, write in texts:
        if name is None:
            continue
        write_file(name, write(), environment)


def lab(
    field: Server,
    options: argparse.Namespace,
    environment: Mapping[str, str],
    transport: httpx.BaseTransport | None,
    clock: Clock | None,
) -> int:
    """Estimates what a change in the lab would be in the field. The lab's project has a token of its own."""
    if options.lab_project is None:
        return run_lab(field, None, options, environment)
    token = environment.get("FIELDFLAME_LAB_TOKEN")
    if token is None:
        raise DeniedError("Set FIELDFLAME_LAB_TOKEN to a token of the lab's project, as a secret of the build.")
    used = (clock or Clock()).sleep
    recorded = Server(field.url, options.lab_project, token, transport=transport, sleep=used)
    try:
        return run_lab(field, recorded, options, environment)
    finally:
        recorded.close()


def announce(server: Server, options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Tells the server about a release. The same again changes nothing: times that the server knows stay.

    A job that rolls a release back is not the one that built it: then only what was named is told.
    """
    build = Build() if options.rolled_back else read_build(environment)
    fields = {
        "commit": options.commit or build.commit,
        "base_commit": options.base_commit,
        "released_at": options.released_at,
        "author": options.author,
        "link": options.link or build.link,
        "range_link": options.range_link or build.range_link,
    }
    named = {name: value for name, value in fields.items() if value}
    known = server.post("releases", {"release": options.release, **named})
    name = "rolled_back_at" if options.rolled_back else "released_at"
    more: dict[str, str | None] = {}  # a field that is not named stays as it was
    is_back = not options.rolled_back and bool(known.get("rolled_back_at"))
    if options.rolled_back:
        now, is_rolled_back = read_rollback(known)
        more |= {} if is_rolled_back else {name: now}
    elif not known.get(name) and not is_back:  # one that is in use again was released before: no one knows when
        more[name] = datetime.now(UTC).isoformat(timespec="seconds")
    if is_back:
        more["rolled_back_at"] = None
    if more:
        known = {**known, **server.post("releases", {"release": options.release, **more}), **more}
    if known.get(name):
        named[name] = str(known[name])
    print(f"Fieldflame, {clean(server.project)}: {describe_announcement(options, known, named, is_back=is_back)}")
    return Exit.OK


def describe_announcement(
    options: argparse.Namespace, known: Mapping[str, object], named: dict[str, str], *, is_back: bool
) -> str:
    """Returns what the server was told. A rollback of a release that no one has seen ends nothing, so it is said."""
    release = clean(options.release)
    listed = ", ".join(f"{name.replace('_', ' ')} {_write_fact(name, value)}" for name, value in named.items())
    if not options.rolled_back:
        again = " It had been rolled back, and counts as in use again." if is_back else ""
        return f"announced {release}{f' ({listed})' if listed else ''}.{again}"
    said = f"{release} counts as rolled back since {_write_fact('rolled_back_at', named['rolled_back_at'])}."
    if known["first_seen_at"] is None:
        return f"{said} But no page view has this release: is its name right?"
    return f"{said} Its alarms end within minutes."


def _write_fact(name: str, value: str) -> str:
    """Returns a fact for the log: times in UTC."""
    if not name.endswith("_at"):
        return clean(value)
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return clean(value)
    return f"{(at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
