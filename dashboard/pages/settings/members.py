"""The settings page "Members": roles, and links with which new members set their password."""

from typing import Final, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.layout.forms import SettingsForm
from dashboard.pages.account import LINK_DAYS, write_password_link
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from projects.members import LastAdmin, add_member, add_new_member, change_role, is_last_admin, remove_member
from projects.models import Membership

NAME_CHARS: Final = 150  # as the table of users has it
LAST_ADMIN: Final = (
    "{} is the project’s last admin who can log in. Make another member an admin first: one who has set a password."
)
JOINED: Final = "You were added as an admin, so that you keep access: only members can see the project now."
ROLES: Final = (
    (Membership.Role.MEMBER, "Member: sees everything except raw traces and secrets"),
    (Membership.Role.ADMIN, "Admin: also changes settings, imports profiles, reads raw traces"),
)


class AddForm(SettingsForm):
    username = forms.CharField(
        label="User name",
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=ROLES)
    create = forms.BooleanField(label="Create an account if none has this name", required=False)


class RoleForm(SettingsForm):
    role = forms.ChoiceField(choices=Membership.Role.choices)


@settings_page("settings-members")
def show_members(page: SettingsRequest) -> HttpResponse:
    members = list(
        page.project.memberships.select_related("user__provider_identity").order_by("role", "user__username")
    )
    form = AddForm(
        page.request.POST if page.has_posted else None,
        initial={"role": Membership.Role.MEMBER},
    )
    if not is_superuser(page):
        del form.fields["create"]
    if form.is_bound and form.is_valid():
        try:
            return add(page, form)
        except ValidationError as error:
            form.add_service_errors(error)
    return show(page, form, members, status=400 if form.is_bound else 200)


def show(page: SettingsRequest, form: AddForm, members: list[Membership], *, status: int = 200) -> HttpResponse:
    """Returns the page with the list and the form."""
    return page.render(
        "members",
        status=status,
        form=form,
        members=members,
        is_superuser=is_superuser(page),
        may_reset=is_superuser(page) and settings.PASSWORD_LOGIN,
        roles=Membership.Role.choices,
    )


def add(page: SettingsRequest, form: AddForm) -> HttpResponse:
    """Adds a member, and shows the link of a new account. Raises `ValidationError` with the field's name."""
    name, role = form.cleaned_data["username"], Membership.Role(form.cleaned_data["role"])
    by = cast("User", page.request.user)  # logged in
    is_joining = not page.project.memberships.exists()
    user = User.objects.filter(username=name).first()
    is_new = user is None and form.cleaned_data.get("create", False)
    if user is None and not is_new:
        raise ValidationError({"username": missing_message(page, name)})
    if user is None:
        member = add_new_member(project=page.project, username=name, role=role, by=by)
    else:
        member = add_member(project=page.project, user=user, role=role, by=by)
    page.log_change("member added: user", member.user_id, role, "with a new account" if is_new else "")
    if is_new and settings.PASSWORD_LOGIN:
        if is_joining:
            messages.success(page.request, JOINED)
        return show_link(page, member.user, is_new=True)
    message = f"{name} is now {'an admin' if role == Membership.Role.ADMIN else 'a member'} of the project."
    return page.redirect(f"{message} {JOINED}" if is_joining and user != by else message)


def missing_message(page: SettingsRequest, name: str) -> str:
    if is_superuser(page):
        return f"No account is called {name}. Tick the box below to create it."
    return f"No account is called {name}. Check the spelling; only superusers can create accounts."


@settings_page("settings-members", for_admins=True)
def change_member(page: SettingsRequest, member_id: int) -> HttpResponse:
    """Changes the role of a member, from the list: it has no page of its own."""
    member = find_member(page, member_id)
    form = RoleForm(page.request.POST)
    if not page.has_posted or not form.is_valid():
        return page.redirect("Choose a role.", level=messages.ERROR)
    name, role = member.user.get_username(), Membership.Role(form.cleaned_data["role"])
    try:
        change_role(member, role)
    except LastAdmin:
        return page.redirect(LAST_ADMIN.format(name), level=messages.ERROR)
    except Membership.DoesNotExist:  # removed in the meantime
        return page.redirect(f"{name} is no longer a member.", level=messages.ERROR)
    page.log_change("role changed: user", member.user_id, role)
    return page.redirect(f"{name} is now {'an admin' if role == Membership.Role.ADMIN else 'a member'}.")


@settings_page("settings-members", for_admins=True)
def end_member(page: SettingsRequest, member_id: int) -> HttpResponse:
    member = find_member(page, member_id)
    name = member.user.get_username()
    if not page.has_posted:
        is_self = member.user_id == page.request.user.pk
        return page.render("member_end", member=member, is_self=is_self, is_last=is_last_admin(member))
    try:
        remove_member(member)
    except LastAdmin:
        return page.redirect(LAST_ADMIN.format(name), level=messages.ERROR)
    page.log_change("member removed: user", member.user_id)
    if member.user_id == page.request.user.pk:
        return page.redirect(f"You have left {page.project.name}.", to=reverse("projects"))
    return page.redirect(f"{name} is no longer a member.")


@settings_page("settings-members", for_admins=True)
def renew_link(page: SettingsRequest, member_id: int) -> HttpResponse:
    """Creates a link that resets a member's password. Only for superusers, because the link opens the account."""
    member = find_member(page, member_id)
    if not (is_superuser(page) and settings.PASSWORD_LOGIN):
        raise PermissionDenied
    if not page.has_posted:
        return page.render("member_link", member=member, days=LINK_DAYS)
    page.log_change("password link created: user", member.user_id)
    return show_link(page, member.user, is_new=False)


def show_link(page: SettingsRequest, user: User, *, is_new: bool) -> HttpResponse:
    """Shows a link once. It is stored nowhere, so there is no redirect."""
    link = write_password_link(page.request, user)
    response = page.render("member_link_made", who=user, link=link, is_new=is_new, days=LINK_DAYS)
    add_never_cache_headers(response)
    return response


def find_member(page: SettingsRequest, member_id: int) -> Membership:
    """Returns a membership of the project. Raises `Http404`."""
    member = page.project.memberships.select_related("user").filter(pk=member_id).first()
    if member is None:
        raise Http404("There is no such member.")
    return member


def is_superuser(page: SettingsRequest) -> bool:
    """Returns whether the user may create accounts and reset passwords."""
    return bool(getattr(page.request.user, "is_superuser", False))
