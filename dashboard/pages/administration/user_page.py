"""The page of one account: superuser or not, deactivated or not, a new link, and its deletion."""

from collections.abc import Callable
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from dashboard.layout.forms import SettingsForm
from dashboard.pages.administration.layout import administration_page, render_page
from dashboard.pages.administration.users import NAME_CHARS, PLAIN, show_link
from dashboard.pages.single_sign_on import context
from projects.accounts.last_superuser import is_last_superuser
from projects.accounts.users import (
    LastAdministrator,
    NeedsSuccessor,
    activate_user,
    change_superuser,
    deactivate_user,
    delete_user,
    list_belongings,
)
from projects.models import ProviderIdentity

# What a button does, and what the page says then.
ACTIONS: Final[dict[str, tuple[Callable[[User], None], str]]] = {
    "promote": (lambda user: change_superuser(user, is_superuser=True), "{} is a superuser now."),
    "demote": (lambda user: change_superuser(user, is_superuser=False), "{} is no longer a superuser."),
    "deactivate": (deactivate_user, "{} is deactivated. All sessions have ended."),
    "activate": (activate_user, "{} is active again."),
}


class DeleteUserForm(SettingsForm):
    """Asks who takes over, and for the name: an account is not deleted by a slip."""

    successor = forms.CharField(
        label="Hand over to", max_length=NAME_CHARS, required=False, widget=forms.TextInput(attrs=PLAIN)
    )
    confirm = forms.CharField(max_length=NAME_CHARS, widget=forms.TextInput(attrs=PLAIN))

    def __init__(self, user: User, data: object = None) -> None:
        super().__init__(data)
        self.user = user
        self.fields["confirm"].label = f"Type {user.get_username()} to confirm"

    def clean_successor(self) -> User | None:
        name = self.cleaned_data["successor"]
        if not name:
            return None
        successor = User.objects.filter(username=name, is_active=True).exclude(pk=self.user.pk).first()
        if successor is None:
            raise forms.ValidationError(f"There is no other active account called {name}.")
        return successor

    def clean_confirm(self) -> str:
        name: str = self.cleaned_data["confirm"]
        if name != self.user.get_username():
            raise forms.ValidationError(f"Type {self.user.get_username()}.")
        return name


@administration_page
def show_user(request: HttpRequest, user_id: int) -> HttpResponse:
    user = find_user(user_id)
    if request.method == "POST":
        return change_user(request, user)
    values: dict[str, Any] = {  # Any: values of a template
        "who": user,
        "is_self": user == request.user,
        "is_last": is_last_superuser(user),
        "memberships": user.memberships.select_related("project").order_by("project__name"),
        "identity": ProviderIdentity.objects.filter(user=user).first(),
    }
    return render_page(request, "user", "users", **values, **context())


def change_user(request: HttpRequest, user: User) -> HttpResponse:
    """Does what the pressed button says."""
    if "link" in request.POST and user.is_active:
        return show_link(request, user, is_new=False)
    action = next((name for name in ACTIONS if name in request.POST), None)
    if action is None or (user == request.user and action in ("demote", "deactivate")):
        messages.error(request, "Another superuser must do that.")
        return HttpResponseRedirect(reverse("user", args=[user.pk]))
    change, message = ACTIONS[action]
    try:
        change(user)
    except LastAdministrator as error:
        messages.error(request, str(error))
    else:
        messages.success(request, message.format(user.get_username()))
    return HttpResponseRedirect(reverse("user", args=[user.pk]))


@administration_page
def show_delete(request: HttpRequest, user_id: int) -> HttpResponse:
    """Asks, and deletes the account."""
    user = find_user(user_id)
    form = DeleteUserForm(user, request.POST if request.method == "POST" else None)
    is_self = user == request.user
    if form.is_bound and form.is_valid() and not is_self:
        try:
            delete_user(user, successor=form.cleaned_data["successor"])
        except NeedsSuccessor:
            form.add_error("successor", "Name an account that takes over what this one owns.")
        except LastAdministrator as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"The account {form.cleaned_data['confirm']} is deleted.")
            return HttpResponseRedirect(reverse("users"))
    form.make_ready(may_change=True)
    status = 400 if form.is_bound else 200
    values = {"who": user, "form": form, "owned": list_belongings(user), "is_self": is_self}
    return render_page(request, "user_delete", "users", status=status, **values)


def find_user(user_id: int) -> User:
    """Returns an account. Raises `Http404`."""
    user = User.objects.filter(pk=user_id).first() if user_id < 2**31 else None
    if user is None:
        raise Http404("There is no such account.")
    return user
