"""The page "Users": all accounts of the server, and a form that creates one."""

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers

from dashboard.layout.forms import SettingsForm
from dashboard.pages.account import LINK_DAYS, write_password_link
from dashboard.pages.administration.layout import administration_page, render_page
from dashboard.pages.single_sign_on import context
from projects.accounts.users import create_user

NAME_CHARS = 150  # as the table of users has it
PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
MAX_LISTED = 1_000  # rows of one page; the search narrows them


class NewUserForm(SettingsForm):
    username = forms.CharField(label="User name", max_length=NAME_CHARS, widget=forms.TextInput(attrs=PLAIN))
    is_superuser = forms.BooleanField(label="Superuser: creates projects and accounts", required=False)


@administration_page
def show_users(request: HttpRequest) -> HttpResponse:
    form = NewUserForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            user = create_user(form.cleaned_data["username"], is_superuser=form.cleaned_data["is_superuser"])
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            return show_link(request, user, is_new=True)
    form.make_ready(may_change=True)
    find = request.GET.get("find", "")[:NAME_CHARS].replace("\0", "")
    matching = User.objects.filter(username__icontains=find) if find else User.objects.all()
    rows = matching.select_related("provider_identity").annotate(projects=Count("memberships")).order_by("username")
    status = 400 if form.is_bound else 200
    values = {"form": form, "users": rows[:MAX_LISTED], "count": matching.count(), "find": find, "most": MAX_LISTED}
    return render_page(request, "users", "users", status=status, **values, **context())


def show_link(request: HttpRequest, user: User, *, is_new: bool) -> HttpResponse:
    """Shows a link that sets a password, once. It is stored nowhere, so there is no redirect."""
    values = context()
    link = write_password_link(request, user) if values["has_passwords"] else ""
    values |= {"who": user, "link": link, "is_new": is_new, "days": LINK_DAYS}
    response = render_page(request, "user_link", "users", **values)
    add_never_cache_headers(response)
    return response
