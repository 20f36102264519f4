"""Logins by a provider: which account a person has, and which roles their groups give them.

A person is found by the provider's own id (issuer and subject), never by a name, which may change hands. Roles follow
the groups at each login. Memberships that admins gave by hand are left alone.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from projects.accounts.group_roles import GroupRole
from projects.accounts.last_superuser import is_last_superuser
from projects.audit.acts import Act
from projects.audit.entries import describe_user, record
from projects.members import LastAdmin, add_member, change_role, create_account, remove_member
from projects.models import Membership, Project, ProviderIdentity

logger = logging.getLogger(__name__)


class SignInRefused(Exception):
    """The person may not log in. The text is a sentence for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whom the provider has logged in."""

    issuer: str
    subject: str
    name: str
    groups: Collection[str]


def sign_in(person: Person, roles: Sequence[GroupRole], *, link_by_name: bool) -> User:
    """Returns the person's account, with the roles of their groups; creates it at the first login.

    Raises `SignInRefused` for a deactivated account, for someone new without any group that has a role (if groups have
    roles at all), and for someone new whose name is taken.
    """
    held = [role for role in roles if role.group in person.groups]
    with transaction.atomic():
        identity = ProviderIdentity.objects.select_related("user").filter(issuer=person.issuer, subject=person.subject)
        known = identity.select_for_update(of=("self",)).first()
        if known is None:
            if roles and not held:
                raise SignInRefused("None of your groups has access to this server. Ask its operator.")
            known = link_account(_find_account(person, link_by_name=link_by_name), person)
        if not known.user.is_active:
            raise SignInRefused("Your account on this server is deactivated.")
        _follow_superuser(known, roles, held)
        _follow_projects(known.user, roles, held)
    return known.user


def link_account(user: User, person: Person) -> ProviderIdentity:
    """Makes the provider's person the owner of an account. Raises `SignInRefused` if either has another one."""
    taken = ProviderIdentity.objects.filter(issuer=person.issuer, subject=person.subject).exclude(user=user)
    if taken.exists() or ProviderIdentity.objects.filter(user=user).exclude(subject=person.subject).exists():
        raise SignInRefused("This account, or your login, is linked with another one.")
    identity, is_new = ProviderIdentity.objects.get_or_create(user=user, issuer=person.issuer, subject=person.subject)
    if is_new:
        record(Act.USER_LINKED, user=describe_user(user))
    return identity


def _find_account(person: Person, *, link_by_name: bool) -> User:
    """Returns the account of someone who logs in for the first time."""
    name = User.normalize_username(person.name)
    account = User.objects.filter(username__iexact=name).first()
    if account is not None and link_by_name and not ProviderIdentity.objects.filter(user=account).exists():
        return account
    if account is not None:
        raise SignInRefused(
            f"There is an account called {name} already. If it is yours, log in with its password, and link it under "
            "Your account."
        )
    try:
        return create_account(name)
    except ValidationError as error:
        raise SignInRefused(f"The name {name!r} cannot be used here: {' '.join(error.messages)}") from None


def _follow_superuser(identity: ProviderIdentity, roles: Sequence[GroupRole], held: Sequence[GroupRole]) -> None:
    user = identity.user
    is_entitled = any(role.role == "superuser" for role in held)
    if is_entitled and not user.is_superuser:
        user.is_superuser = identity.made_superuser = True
        record(Act.USER_PROMOTED, user=describe_user(user))
    elif not is_entitled and identity.made_superuser and user.is_superuser:
        if is_last_superuser(user):
            logger.warning("User %s is in no group of superusers any more, but is the last one.", user.pk)
            return
        user.is_superuser = identity.made_superuser = False
        record(Act.USER_DEMOTED, user=describe_user(user))
    else:
        return
    user.save(update_fields=["is_superuser"])
    identity.save(update_fields=["made_superuser"])


def _follow_projects(user: User, roles: Sequence[GroupRole], held: Sequence[GroupRole]) -> None:
    named = {role.project for role in roles if role.project}
    projects = Project.objects.filter(deletion_started_at=None).order_by("pk")
    if "*" not in named:
        by_provider = Membership.objects.filter(user=user, by_provider=True).values("project")
        projects = projects.filter(slug__in=named) | projects.filter(pk__in=by_provider)
    members = Membership.objects.filter(user=user).select_related("project")
    memberships = {member.project_id: member for member in members}
    for project in projects.distinct():
        mine = {role.role for role in held if role.project in ("*", project.slug)}
        wanted = Membership.Role.ADMIN if "admin" in mine else Membership.Role.MEMBER if mine else None
        _follow_project(user, project, memberships.get(project.pk), wanted)


def _follow_project(user: User, project: Project, member: Membership | None, wanted: Membership.Role | None) -> None:
    """Gives a person the role of their groups in a project. What would leave it without an admin is only logged."""
    if member is None:
        if wanted is None:
            return
        try:
            added = add_member(project=project, user=user, role=wanted, by=user)
        except ValidationError:  # the first member of a project must be an admin
            logger.warning("project %s: user %s is not added before its first admin.", project.slug, user.pk)
            return
        Membership.objects.filter(pk=added.pk).update(by_provider=True)
    elif member.by_provider and wanted != member.role:
        try:
            if wanted is None:
                remove_member(member)
            else:
                change_role(member, wanted)
        except LastAdmin:
            logger.warning("project %s: user %s stays its last admin, against the groups.", project.slug, user.pk)
