"""Members: who reads and who administers a project, and links by which new people open their accounts."""

from typing import Final

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.access import visible_projects
from dashboard.account import LINK_DAYS, write_password_link
from dashboard.settings.forms import SettingsForm
from dashboard.settings.frame import Desk, settings_page
from ingest.members import LastAdmin, add_member, add_new_member, change_role, is_last_admin, remove_member
from ingest.models import Membership

NAME_CHARS: Final = 150  # as the table of users has it
LAST_ADMIN: Final = "{} is the project’s last admin who can log in. Make somebody else an admin first."
ROLES: Final = (
    (Membership.Role.MEMBER, "Member: sees everything but raw traces and secrets"),
    (Membership.Role.ADMIN, "Admin: also changes settings, imports, reads raw traces"),
)


class AddForm(SettingsForm):
    username = forms.CharField(
        label="User name",
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=ROLES)
    create = forms.BooleanField(label="Make an account, if there is none of that name", required=False)


class RoleForm(SettingsForm):
    role = forms.ChoiceField(choices=Membership.Role.choices)


@settings_page("settings-members")
def show_members(desk: Desk) -> HttpResponse:
    members = list(desk.project.memberships.select_related("user").order_by("role", "user__username"))
    form = AddForm(
        desk.request.POST if desk.has_posted else None,
        initial={"role": Membership.Role.MEMBER if members else Membership.Role.ADMIN},
    )
    if not is_superuser(desk):
        del form.fields["create"]
    if form.is_bound and form.is_valid():
        try:
            return add(desk, form)
        except ValidationError as error:
            form.blame(error)
    return show(desk, form, members, status=400 if form.is_bound else 200)


def show(desk: Desk, form: AddForm, members: list[Membership], *, status: int = 200) -> HttpResponse:
    """Renders the list and the form."""
    return desk.show(
        "members",
        status=status,
        form=form,
        members=members,
        is_superuser=is_superuser(desk),
        roles=Membership.Role.choices,
    )


def add(desk: Desk, form: AddForm) -> HttpResponse:
    """Adds a member; for a new account, shows its link. Raises `ValidationError`, which names the field."""
    name, role = form.cleaned_data["username"], Membership.Role(form.cleaned_data["role"])
    user = User.objects.filter(username=name).first()
    is_new = user is None and form.cleaned_data.get("create", False)
    if user is None and not is_new:
        raise ValidationError({"username": missing_words(desk, name)})
    if user is None:
        member = add_new_member(project=desk.project, username=name, role=role)
    else:
        member = add_member(project=desk.project, user=user, role=role)
    desk.tell("member added: user", member.user_id, role, "with a new account" if is_new else "")
    if is_new:
        return show_link(desk, member.user, is_new=True)
    words = f"{name} is {'an admin' if role == Membership.Role.ADMIN else 'a member'} of the project now."
    if not visible_projects(desk.request.user).filter(pk=desk.project.pk).exists():
        return desk.leave(f"{words} It belongs to its members, and you are none.", to=reverse("projects"))
    return desk.leave(words)


def missing_words(desk: Desk, name: str) -> str:
    if is_superuser(desk):
        return f"There is nobody called {name}. Tick the box below to make an account of that name."
    return f"There is nobody called {name}. Names are exact; only superusers make new accounts."


@settings_page("settings-members", for_admins=True)
def change_member(desk: Desk, member_id: int) -> HttpResponse:
    """Gives a member another role. It is asked by a form of the list, and has no page of its own."""
    member = find_member(desk, member_id)
    form = RoleForm(desk.request.POST)
    if not desk.has_posted or not form.is_valid():
        return desk.leave("Choose a role.", level=messages.ERROR)
    name, role = member.user.get_username(), Membership.Role(form.cleaned_data["role"])
    try:
        change_role(member, role)
    except LastAdmin:
        return desk.leave(LAST_ADMIN.format(name), level=messages.ERROR)
    except Membership.DoesNotExist:  # removed meanwhile
        return desk.leave(f"{name} is no member any more.", level=messages.ERROR)
    desk.tell("role changed: user", member.user_id, role)
    return desk.leave(f"{name} is {'an admin' if role == Membership.Role.ADMIN else 'a member'} now.")


@settings_page("settings-members", for_admins=True)
def end_member(desk: Desk, member_id: int) -> HttpResponse:
    member = find_member(desk, member_id)
    name = member.user.get_username()
    if not desk.has_posted:
        is_self = member.user_id == desk.request.user.pk
        return desk.show("member_end", member=member, is_self=is_self, is_last=is_last_admin(member))
    try:
        remove_member(member)
    except LastAdmin:
        return desk.leave(LAST_ADMIN.format(name), level=messages.ERROR)
    desk.tell("member removed: user", member.user_id)
    if member.user_id == desk.request.user.pk:
        return desk.leave(f"You have left {desk.project.name}.", to=reverse("projects"))
    return desk.leave(f"{name} is no member any more.")


@settings_page("settings-members", for_admins=True)
def renew_link(desk: Desk, member_id: int) -> HttpResponse:
    """Makes a link by which a member sets a new password: for superusers alone, since it opens the account."""
    member = find_member(desk, member_id)
    if not is_superuser(desk):
        raise PermissionDenied
    if not desk.has_posted:
        return desk.show("member_link", member=member, days=LINK_DAYS)
    desk.tell("password link made: user", member.user_id)
    return show_link(desk, member.user, is_new=False)


def show_link(desk: Desk, user: User, *, is_new: bool) -> HttpResponse:
    """Shows a link once: it is kept nowhere, and so in no redirect either."""
    link = write_password_link(desk.request, user)
    response = desk.show("member_link_made", who=user, link=link, is_new=is_new, days=LINK_DAYS)
    add_never_cache_headers(response)
    return response


def find_member(desk: Desk, member_id: int) -> Membership:
    """Returns a membership of the project. Raises `Http404`."""
    member = desk.project.memberships.select_related("user").filter(pk=member_id).first()
    if member is None:
        raise Http404("There is no such member.")
    return member


def is_superuser(desk: Desk) -> bool:
    """Tells whether who asks may make accounts and open them."""
    return bool(getattr(desk.request.user, "is_superuser", False))
