"""Each act of administration, done once: what the walk over the log does."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import uuid4

from django.contrib.auth.models import User
from django.test import RequestFactory

from aggregate.jobs.runs import claim_job
from aggregate.maintenance.project_deletion import _delete_last
from aggregate.maintenance.refolding import Scope, start_run
from aggregate.maintenance.view_erasures import run_erasure, start_erasure
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.deleting import delete_release
from aggregate.sourcemaps.moving import move_scripts
from aggregate.sourcemaps.uploading import store_build
from alerts import channels
from alerts import rules as alerts
from alerts.delivery.gathering import make_test, replay
from alerts.models import AlertRule, AlertState, Channel, Message
from dashboard.pages.account import write_password_link
from ingest.imports import import_file
from profcore.alerts.states import State
from profcore.code.display_rules import read_display_rules
from profcore.trace.collection import Collection
from projects import (
    collection,
    creation,
    descriptions,
    keys,
    lifecycle,
    limits,
    members,
    releases,
    shared_links,
    tokens,
)
from projects.accounts import users
from projects.accounts.group_roles import GroupRole
from projects.accounts.sign_in import Person, sign_in
from projects.audit.acts import Act
from projects.models import Membership, Project, ProviderIdentity
from tests.alerts.state_changes import change_state
from tests.envelopes import make_envelope

NOW: Final = datetime.now(UTC)


def _user(name: str) -> User:
    create = User.objects.create_superuser if name == "root" else User.objects.create_user
    return User.objects.filter(username=name).first() or create(name, password="x")


def _member(project: Project, role: Membership.Role) -> Membership:
    members.add_member(project=project, user=_user("head"), role=Membership.Role.ADMIN, by=_user("head"))
    return members.add_member(project=project, user=_user("anna"), role=role, by=_user("head"))


def _upload(project: Project) -> None:
    files = [
        BuildFile("app.js", 4, lambda: b"a()\n"),
        BuildFile("app.js.map", len(MAP), lambda: MAP),
    ]
    store_build(project.pk, release="1.0.0", url_prefixes=["https://shop.example/"], files=files)


def _import(project: Project) -> None:
    body = json.dumps(make_envelope("imported")).encode()
    import_file(project=project, name="a.json", body=gzip.compress(body), release=None, page=None, now=NOW)


def _erase(project: Project) -> None:
    start_erasure(project.pk, uuid4())
    run = claim_job()
    assert run is not None
    run_erasure(run)


MAP: Final = json.dumps({"version": 3, "sources": ["a.ts"], "names": [], "mappings": "AAAA"}).encode()


def _sign_in_as(name: str, groups: list[str]) -> None:
    _user("root")
    _user(name)
    person = Person(issuer="https://id.example", subject=name, name=name, groups=groups)
    roles = [GroupRole("ops", "", "superuser"), GroupRole("all", "*", "member")]
    sign_in(person, roles if groups else roles[:1] if ProviderIdentity.objects.exists() else [], link_by_name=True)


def _link(project: Project) -> object:
    return shared_links.create_shared_link(project=project, creator=_user("anna"), page="functions/", now=NOW)[0]


def _alert(project: Project) -> AlertRule:
    question = {"measure": "time", "limit": 100.0}
    return alerts.create_alert(project=project, kind="budget", name="Cart", question=question, now=NOW)


def _open_state(project: Project) -> bytes:
    change_state(project, State.CONFIRMED)
    return bytes(AlertState.objects.get().subject_key)


def _accept(project: Project, key: object) -> object:
    assert isinstance(key, bytes)
    return alerts.accept(AlertRule.objects.get(project=project), key, NOW)


def _channel(project: Project) -> Channel:
    return channels.create_channel(
        project=project, kind="mail", name="Team", addresses=["team@shop.example"], terms=TERMS, now=NOW
    )[0]


def _sent_message(project: Project) -> Message:
    message = make_test(_channel(project), NOW)
    message.state = Message.State.SENT
    message.save()
    return message


TERMS: Final = channels.Terms()


# What to do before, whose entries are not looked at, and the act.
Steps = tuple[Callable[[Project], object], Callable[[Project, object], object]]


def _nothing(project: Project) -> None:
    """Prepares nothing."""


def _only(act: Callable[[Project], object]) -> Steps:
    return _nothing, lambda project, _: act(project)


ACTS: Final[dict[Act, Steps]] = {
    Act.PROJECT_CREATED: _only(lambda p: creation.create_project(slug="second")),
    Act.PROJECT_RENAMED: _only(lambda p: descriptions.rename_project(p, "Another name")),
    Act.PROJECT_ARCHIVED: _only(lifecycle.archive_project),
    Act.PROJECT_RESTORED: _only(lifecycle.restore_project),
    Act.PROJECT_DELETION_STARTED: _only(lifecycle.mark_for_deletion),
    Act.PROJECT_DELETED: _only(lambda p: _delete_last(p.pk)),
    Act.KEY_CREATED: _only(lambda p: keys.create_key(project=p, origins=["*"])),
    Act.KEY_FORWARDING_CHANGED: _only(lambda p: keys.change_forwarding(p.keys.all()[0], "datadoghq.eu")),
    Act.KEY_ORIGINS_CHANGED: (
        lambda p: keys.create_key(project=p, origins=["*"]),
        lambda p, key: keys.change_origins(key, ["https://shop.example"]),  # type: ignore[arg-type]  # made before
    ),
    Act.KEY_REVOKED: (
        lambda p: keys.create_key(project=p, origins=["*"]),
        lambda p, key: keys.revoke_key(key),  # type: ignore[arg-type]
    ),
    Act.LIMITS_CHANGED: _only(lambda p: limits.change_limits(p, {"keep_raw_days": 7})),
    Act.COLLECTION_CHANGED: _only(lambda p: collection.change_collection(p, Collection(off=True))),
    Act.ROUTES_CHANGED: _only(lambda p: descriptions.change_route_rules(p, ["/user/:name"])),
    Act.CODE_RULES_CHANGED: _only(lambda p: descriptions.change_code_rules(p, {})),
    Act.OWNERS_CHANGED: _only(lambda p: descriptions.change_owners(p, "src/ @shop")),
    Act.ISSUE_LINK_CHANGED: _only(lambda p: descriptions.change_issue_link(p, "https://git.example/new?t={title}")),
    Act.SOURCE_LINK_CHANGED: _only(lambda p: descriptions.change_source_link(p, "https://git.example/{path}")),
    Act.TRACE_LINK_CHANGED: _only(lambda p: descriptions.change_trace_link(p, "https://traces.example/{trace_id}")),
    Act.DISPLAY_RULES_CHANGED: _only(lambda p: descriptions.change_display_rules(p, read_display_rules([]))),
    Act.SOURCE_MAPS_UPLOADED: _only(_upload),
    Act.SOURCE_MAPS_MOVED: (_upload, lambda p, _: move_scripts(p.pk, "1.0.0", "https://cdn.example/")),
    Act.SOURCE_MAPS_DELETED: (_upload, lambda p, _: delete_release(p.pk, "1.0.0")),
    Act.TRACES_IMPORTED: _only(_import),
    Act.REFOLD_STARTED: _only(lambda p: start_run(Scope(p.pk))),
    Act.ERASURE_STARTED: _only(lambda p: start_erasure(p.pk, uuid4())),
    Act.ERASURE_FINISHED: (lambda p: start_erasure(p.pk, uuid4()), lambda p, _: run_erasure(claim_job())),  # type: ignore[arg-type]
    Act.MEMBER_ADDED: _only(
        lambda p: members.add_member(project=p, user=_user("anna"), role=Membership.Role.ADMIN, by=_user("anna"))
    ),
    Act.MEMBER_ROLE_CHANGED: (
        lambda p: _member(p, Membership.Role.MEMBER),
        lambda p, member: members.change_role(member, Membership.Role.ADMIN),  # type: ignore[arg-type]
    ),
    Act.MEMBER_REMOVED: (
        lambda p: _member(p, Membership.Role.MEMBER),
        lambda p, member: members.remove_member(member),  # type: ignore[arg-type]
    ),
    Act.TOKEN_CREATED: _only(lambda p: tokens.create_token(project=p, name="ci")),
    Act.TOKEN_REVOKED: (
        lambda p: tokens.create_token(project=p)[0].prefix,
        lambda p, prefix: tokens.revoke_token(project=p, prefix=str(prefix)),
    ),
    Act.RELEASE_ROLLED_BACK: _only(lambda p: releases.announce_release(p.pk, "1.1", NOW, {"rolled_back_at": NOW})),
    Act.RELEASE_RESTORED: (
        lambda p: releases.announce_release(p.pk, "1.1", NOW, {"rolled_back_at": NOW}),
        lambda p, _: releases.announce_release(p.pk, "1.1", NOW, {"rolled_back_at": None}),
    ),
    Act.LINK_CREATED: _only(_link),
    Act.LINK_EXTENDED: (_link, lambda p, link: shared_links.change_expiry(link, 3, NOW + timedelta(hours=1))),  # type: ignore[arg-type]
    Act.LINK_REVOKED: (
        _link,
        lambda p, _: shared_links.revoke_links(shared_links.live_links(NOW).filter(project=p), NOW),
    ),
    Act.ALERT_CREATED: _only(_alert),
    Act.ALERT_CHANGED: (
        _alert,
        lambda p, alert: alerts.change_alert(alert, name="List", question={}, is_on=False, now=NOW),  # type: ignore[arg-type]
    ),
    Act.ALERT_DELETED: (_alert, lambda p, alert: alerts.delete_alert(alert, NOW)),  # type: ignore[arg-type]
    Act.ALERT_ACCEPTED: (_open_state, _accept),
    Act.CHANNEL_CREATED: _only(_channel),
    Act.CHANNEL_CHANGED: (
        _channel,
        lambda p, channel: channels.change_channel(channel, name="All", terms=TERMS),  # type: ignore[arg-type]
    ),
    Act.CHANNEL_TESTED: (_channel, lambda p, channel: make_test(channel, NOW)),  # type: ignore[arg-type]
    Act.MESSAGE_REPLAYED: (_sent_message, lambda p, message: replay(p.pk, message.id, NOW)),  # type: ignore[attr-defined]
    Act.CHANNEL_DELETED: (_channel, lambda p, channel: channels.delete_channel(channel)),  # type: ignore[arg-type]
    Act.USER_CREATED: _only(lambda p: members.create_account("newcomer")),
    Act.USER_DEACTIVATED: _only(lambda p: users.deactivate_user(_user("anna"))),
    Act.USER_ACTIVATED: (
        lambda p: users.deactivate_user(_user("anna")),
        lambda p, _: users.activate_user(_user("anna")),
    ),
    Act.USER_DELETED: _only(lambda p: users.delete_user(_user("anna"), successor=None)),
    Act.USER_LINKED: _only(lambda p: _sign_in_as("anna", [])),
    Act.USER_PROMOTED: (lambda p: _sign_in_as("anna", []), lambda p, _: _sign_in_as("anna", ["ops"])),
    Act.USER_DEMOTED: (lambda p: _sign_in_as("anna", ["ops"]), lambda p, _: _sign_in_as("anna", [])),
    Act.USER_PASSWORD_LINK_CREATED: (
        lambda p: _user("anna"),
        lambda p, user: write_password_link(RequestFactory().get("/"), user),  # type: ignore[arg-type]
    ),
}
# Acts of a page, which `tests/dashboard/pages/administration` walks by its forms.
BY_PAGES: Final = {Act.USER_PASSWORD_SET, Act.USER_SESSIONS_ENDED}
