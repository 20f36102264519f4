"""Members and admins of a project, and accounts for people who have none yet.

As long as a project has members, it has an admin who can log in. A change of members locks the project's row, so that
one of two admins who step down at the same time gets an error.
"""

from datetime import UTC, datetime

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q

from projects.audit.acts import Act
from projects.audit.entries import describe_user, record
from projects.models import Membership, Project, SavedView, SharedLink
from projects.shared_links import revoke_links


class LastAdmin(Exception):
    """A change would leave a project without an admin who can log in."""


def add_member(*, project: Project, user: User, role: Membership.Role, by: User) -> Membership:
    """Makes someone a member, and returns the membership. Raises `ValidationError` for `role` or `username`.

    With its first member, a project no longer belongs to superusers. So `by`, who adds the first member, becomes an
    admin too and keeps access.
    """
    with transaction.atomic():
        _lock(project)
        members = Membership.objects.filter(project=project)
        is_first = not members.exists()
        if is_first and user == by and role != Membership.Role.ADMIN:
            raise ValidationError({"role": "The first member must be an admin: no one else could add more."})
        if members.filter(user=user).exists():
            raise ValidationError({"username": f"{user.get_username()} is a member already."})
        if is_first and user != by:
            _add(project, by, Membership.Role.ADMIN)
        return _add(project, user, role)


def _add(project: Project, user: User, role: Membership.Role) -> Membership:
    record(Act.MEMBER_ADDED, project=project, user=describe_user(user), role=role)
    return Membership.objects.create(project=project, user=user, role=role)


def add_new_member(*, project: Project, username: str, role: Membership.Role, by: User) -> Membership:
    """Creates an account and makes it a member, or neither. Raises what `create_account` and `add_member` raise."""
    with transaction.atomic():
        return add_member(project=project, user=create_account(username), role=role, by=by)


def change_role(membership: Membership, role: Membership.Role) -> None:
    """Gives a member another role. Raises `LastAdmin`, and `Membership.DoesNotExist` if the member was removed."""
    with transaction.atomic():
        _lock(membership.project)
        if role != Membership.Role.ADMIN:
            _check_other_admin(membership)
        if not Membership.objects.filter(pk=membership.pk).update(role=role):
            raise Membership.DoesNotExist
        about = {"user": describe_user(membership.user), "role": role, "before": membership.role}
        record(Act.MEMBER_ROLE_CHANGED, project=membership.project, **about)
    membership.role = role


def remove_member(membership: Membership) -> None:
    """Removes a member, the views that they saved for themselves, and the links they shared. Raises `LastAdmin`."""
    with transaction.atomic():
        _lock(membership.project)
        _check_other_admin(membership)
        SavedView.objects.filter(project=membership.project, user=membership.user, is_shared=False).delete()
        membership.delete()
        record(Act.MEMBER_REMOVED, project=membership.project, user=describe_user(membership.user))
        shared = SharedLink.objects.filter(project=membership.project, creator=membership.user)
        revoke_links(shared, datetime.now(UTC))


def create_account(username: str) -> User:
    """Creates an account without a password, to be opened by a link made for it. Raises `ValidationError`.

    Two names that differ only in upper and lower case would be confused, so the second is an error. The name is kept in
    the form in which a login looks it up.
    """
    username = User.normalize_username(username)
    if User.objects.filter(username__iexact=username).exists():
        raise ValidationError({"username": f"There is already an account called {username}."})
    user = User(username=username)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    try:
        with transaction.atomic():
            user.save()
            record(Act.USER_CREATED, user=describe_user(user))
    except IntegrityError:  # created meanwhile
        raise ValidationError({"username": f"There is already an account called {username}."}) from None
    return user


def is_last_admin(membership: Membership) -> bool:
    """Returns whether a project would have no admin who can log in without this member.

    An admin who has not opened the account yet does not count: the link expires, so this may never happen.
    """
    admins = Membership.objects.filter(project_id=membership.project_id, role=Membership.Role.ADMIN)
    return not admins.exclude(pk=membership.pk).filter(can_log_in("user__")).exists()


def can_log_in(path: str = "") -> Q:
    """Returns the condition that a user can log in: by a password that they have set, or by the provider.

    `path` leads from the table that is filtered to its user.
    """
    ways = Q(**{f"{path}provider_identity__isnull": False}) if settings.OIDC_ISSUER else Q()
    if settings.PASSWORD_LOGIN:
        ways |= ~Q(**{f"{path}password__startswith": UNUSABLE_PASSWORD_PREFIX})
    return Q(**{f"{path}is_active": True}) & ways


def _check_other_admin(membership: Membership) -> None:
    if is_last_admin(membership):
        raise LastAdmin


def _lock(project: Project) -> None:
    """Locks a project's row against other changes of its members; folds, which refer to it, are not blocked."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
