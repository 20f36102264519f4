"""Accounts of the server: superusers create, deactivate and delete them. Someone who can administer always stays.

A change locks all superusers' rows, and the rows of the projects that it is about, so that two at the same time cannot
both be the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from projects.accounts.last_superuser import is_last_superuser
from projects.audit.acts import Act
from projects.audit.entries import describe_user, record
from projects.members import add_member, change_role, create_account, is_last_admin
from projects.models import Membership, Project, SavedView, SharedLink


class LastAdministrator(Exception):
    """No one else who can log in could administer the server, or some projects. The text says what to do."""


class NeedsSuccessor(Exception):
    """The account owns things that someone must take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """What an account owns: shared saved views and live links, and the projects of which it is the last admin."""

    shared_views: int
    links: int
    last_admin_of: Sequence[Project]

    @property
    def needs_successor(self) -> bool:
        """Returns whether someone must take something over."""
        return bool(self.shared_views or self.links or self.last_admin_of)


def create_user(username: str, *, is_superuser: bool = False) -> User:
    """Creates an account without a password, to be opened by a link. Raises `ValidationError` for `username`."""
    with transaction.atomic():
        user = create_account(username)
        if is_superuser:
            change_superuser(user, is_superuser=True)
    return user


def change_superuser(user: User, *, is_superuser: bool) -> None:
    """Makes someone a superuser, or no longer one. Raises `LastAdministrator`."""
    with transaction.atomic():
        _lock_superusers()
        if not is_superuser and is_last_superuser(user):
            raise LastAdministrator("This is the last superuser who can log in. Make someone else a superuser first.")
        if User.objects.filter(pk=user.pk, is_superuser=not is_superuser).update(is_superuser=is_superuser):
            record(Act.USER_PROMOTED if is_superuser else Act.USER_DEMOTED, user=describe_user(user))
    user.is_superuser = is_superuser


def deactivate_user(user: User) -> None:
    """Ends all sessions and links of an account, and lets no one log in with it. Raises `LastAdministrator`."""
    with transaction.atomic():
        _lock_superusers()
        _check_can_go(user, list_belongings(user))
        if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            record(Act.USER_DEACTIVATED, user=describe_user(user))
    user.is_active = False


def activate_user(user: User) -> None:
    """Lets a deactivated account log in again, with its roles and its password."""
    with transaction.atomic():
        if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
            record(Act.USER_ACTIVATED, user=describe_user(user))
    user.is_active = True


def list_belongings(user: User) -> Belongings:
    """Returns what an account owns."""
    admin_of = Membership.objects.filter(user=user, role=Membership.Role.ADMIN).select_related("project")
    return Belongings(
        shared_views=SavedView.objects.filter(user=user, is_shared=True).count(),
        links=SharedLink.objects.filter(creator=user, revoked_at=None).count(),
        last_admin_of=[member.project for member in admin_of.order_by("project__slug") if is_last_admin(member)],
    )


def delete_user(user: User, *, successor: User | None) -> None:
    """Deletes an account; what it owns goes to `successor`, and its private saved views are deleted.

    The successor becomes an admin of projects that would have none. A link goes over if its project is theirs too, and
    ends otherwise. Raises `NeedsSuccessor` and `LastAdministrator`.
    """
    with transaction.atomic():
        _lock_superusers()
        if is_last_superuser(user):
            raise LastAdministrator("This is the last superuser who can log in. Make someone else a superuser first.")
        owned = list_belongings(user)
        if owned.needs_successor and (successor is None or successor == user or not successor.is_active):
            raise NeedsSuccessor
        if successor is not None:
            for project in owned.last_admin_of:
                _make_admin(project, successor)
            SavedView.objects.filter(user=user, is_shared=True).update(user=successor)
            theirs = Membership.objects.filter(user=successor).values("project")
            SharedLink.objects.filter(creator=user, project__in=theirs).update(creator=successor)
        to = None if successor is None else describe_user(successor)
        record(Act.USER_DELETED, user=describe_user(user), successor=to)
        user.delete()


def _make_admin(project: Project, user: User) -> None:
    member = Membership.objects.filter(project=project, user=user).first()
    if member is None:
        add_member(project=project, user=user, role=Membership.Role.ADMIN, by=user)
    else:
        change_role(member, Membership.Role.ADMIN)


def _check_can_go(user: User, owned: Belongings) -> None:
    if is_last_superuser(user):
        raise LastAdministrator("This is the last superuser who can log in. Make someone else a superuser first.")
    if owned.last_admin_of:
        names = ", ".join(project.slug for project in owned.last_admin_of)
        raise LastAdministrator(
            f"This is the last admin who can log in of: {names}. Make someone else an admin there first."
        )


def _lock_superusers() -> None:
    """Makes two changes at the same time wait for each other."""
    list(User.objects.filter(is_superuser=True).order_by("pk").select_for_update(no_key=True).values_list("pk"))
