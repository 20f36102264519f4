"""The log of administration: every act writes one entry, with it or not at all, and nobody changes one later."""

import ast
import inspect
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from projects import creation
from projects.audit.actors import Actor, ActorKind, acting_as
from projects.audit.acts import Act
from projects.audit.entries import expire_entries, record
from projects.limits import change_limits
from projects.models import AuditEntry, Project
from tests.architecture.tree import list_modules, parse_module
from tests.builders import make_project
from tests.projects.audit.acting import ACTS, BY_PAGES

pytestmark = pytest.mark.django_db
MADE = Act.PROJECT_CREATED  # the entry of the project that each test has
ANNA = Actor(ActorKind.USER, 7, "anna", "0123456789ab")


@pytest.fixture
def project() -> Project:
    return make_project("shop")


@pytest.mark.parametrize("act", ACTS, ids=str)
def test_every_act_writes_one_entry_that_names_who_and_what(project: Project, act: Act) -> None:
    prepare, do = ACTS[act]
    prepared = prepare(project)
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    with acting_as(lambda: ANNA):
        do(project, prepared)
    (entry,) = AuditEntry.objects.filter(pk__gt=last)
    assert entry.act == act
    assert (entry.actor_kind, entry.actor_id, entry.actor_name, entry.network) == ("user", 7, "anna", "0123456789ab")
    if not act.startswith("user."):
        assert entry.project_slug == ("second" if act == Act.PROJECT_CREATED else "shop")
    json.dumps(entry.about)


def test_the_walk_knows_every_act() -> None:
    assert set(ACTS) | BY_PAGES == set(Act)


# Functions of the services whose name says that they change something, and that no person calls as an act.
NO_ACTS = {
    "add_new_member",  # calls `add_member` and `create_account`
    "announce_release",  # a build says that it exists
    "expire_announced",
    "expire_shared_links",
    "note_use",
    "save_view",  # of a reader, for themselves or the other readers
    "change_view",
}
VERBS = ("add_", "archive_", "change_", "create_", "delete_", "end_", "mark_", "move_", "remove_", "rename_",
         "restore_", "revoke_", "save_", "start_")  # fmt: skip


def test_no_service_that_changes_something_forgets_the_log() -> None:
    silent = set()
    for module in list_modules():
        if not module.startswith(("projects.", "projects.accounts")):
            continue
        tree = parse_module(module)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        calls = {
            name: {
                call.func.id
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            }
            for name, node in functions.items()
        }
        writers = {name for name, called in calls.items() if "record" in called}
        writers |= {name for name, called in calls.items() if called & writers}
        silent |= {name for name in functions if name.startswith(VERBS) and name not in writers}
    assert silent - NO_ACTS == set()


def test_an_act_that_fails_leaves_no_entry_and_an_entry_that_fails_undoes_the_act(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "record", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        creation.create_project(slug="lost")
    assert not Project.objects.filter(slug="lost").exists()
    with pytest.raises(Exception, match="limit"):
        change_limits(project, {"nonsense": 3})
    assert not AuditEntry.objects.exclude(act=MADE).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE projects_auditentry SET actor_name = 'bob'",
        "UPDATE projects_auditentry SET kept_until = now()",
        "DELETE FROM projects_auditentry",
        "TRUNCATE projects_auditentry",
    ],
)
def test_the_database_refuses_to_change_or_to_delete_an_entry(project: Project, statement: str) -> None:
    record(Act.PROJECT_RENAMED, project=project, name="x")
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AuditEntry.objects.count() == 2


def test_an_entry_goes_when_its_own_time_is_over_and_not_sooner(project: Project, settings: LazySettings) -> None:
    record(Act.PROJECT_RENAMED, project=project, name="long")
    settings.KEEP_AUDIT_DAYS = -1  # only a test can: it writes an entry that is old already
    record(Act.PROJECT_RENAMED, project=project, name="old")
    assert expire_entries(datetime.now(UTC) + timedelta(days=3_000)) == 1
    assert [entry.about["name"] for entry in AuditEntry.objects.exclude(act=MADE)] == ["long"]


def test_an_entry_outlives_its_project(project: Project) -> None:
    change_limits(project, {"keep_raw_days": 7})
    project.delete()
    (entry,) = AuditEntry.objects.exclude(act=MADE)
    assert (entry.project_slug, entry.about["limits"], entry.about["before"]) == (
        "shop",
        {"keep_raw_days": 7},
        {"keep_raw_days": None},
    )


def test_the_command_prints_entries_as_lines_of_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with acting_as(lambda: ANNA):
        record(Act.PROJECT_RENAMED, project=project, name="Läden")
    record(Act.USER_CREATED, user={"id": 1, "name": "bob"})
    call_command("export_audit")
    _, first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first.pop("at").endswith("Z")
    assert first == {
        "id": first["id"],
        "act": "project.renamed",
        "actor": {"kind": "user", "id": 7, "name": "anna"},
        "network": "0123456789ab",
        "project": {"id": project.pk, "slug": "shop"},
        "about": {"name": "Läden"},
    }
    assert (second["actor"]["kind"], second["project"], second["network"]) == ("server", None, None)
    call_command("export_audit", "--after", str(first["id"]))
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [second["id"]]
    call_command("export_audit", "--project", "shop", "--since", "2020-01-01")
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_commands_of_django_that_administer_write_to_the_log_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse")
    call_command("createsuperuser", "--no-input", "--username", "root", "--email", "")
    monkeypatch.setattr("getpass.getpass", lambda prompt: "correct donkey")
    call_command("changepassword", "root")
    acts = AuditEntry.objects.order_by("pk").values_list("act", "about__user__name")
    assert list(acts) == [("user.created", "root"), ("user.promoted", "root"), ("user.password_set", "root")]


def test_manage_py_names_the_command_and_the_account_of_the_system() -> None:
    source = (Path(inspect.getfile(Act)).parents[2] / "manage.py").read_text()
    assert "act_as_command(" in source
