"""One's own account: a new password, the end of all sessions, and links by which others set theirs."""

from typing import Any, Final, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from dashboard.layout.forms import SettingsForm
from dashboard.pages.login import TooManyPasswords, is_password_of, password_turn, refuse_busy
from dashboard.pages.single_sign_on import context
from dashboard.web.decorators import private_form
from projects.audit.acts import Act
from projects.audit.entries import describe_user, record
from projects.models import ProviderIdentity

LINK_DAYS: Final = settings.PASSWORD_RESET_TIMEOUT // 86_400


class LogOutForm(SettingsForm):
    """Asks for the password once more: a stranger at an open session must not lock its owner out."""

    password = forms.CharField(
        label="Your password", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(*args, auto_id="out_%s", **kwargs)
        self.request = request
        user = cast("User", request.user)  # logged in
        if not user.has_usable_password():  # they log in by the provider
            del self.fields["password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not is_password_of(self.request, cast("User", self.request.user), password):
            raise forms.ValidationError("Wrong password.")
        return password


class ChangePasswordForm(PasswordChangeForm):
    """Asks for the old password, whose wrong guesses are counted, and for the new one."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(cast("User", request.user), *args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        if not is_password_of(self.request, cast("User", self.request.user), password):
            raise forms.ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return password


class SetPassword(PasswordResetConfirmView):
    """Opens an account by its link: a password is set, and then is logged in with. A link works once."""

    template_name = "dashboard/account/set_password.html"
    success_url = reverse_lazy("login")
    extra_context = {"days": LINK_DAYS}

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:  # Any: as in Django's stubs
        """Answers 403 if there are no logins with a password."""
        if not settings.PASSWORD_LOGIN:
            raise PermissionDenied
        return super().dispatch(*args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:  # Any: the form's user is not typed
        with transaction.atomic():
            # Others may have come by the same link at this moment. The token is of the password that there was.
            user = User.objects.select_for_update().filter(pk=form.user.pk).first()
            token = self.request.session.get(INTERNAL_RESET_SESSION_TOKEN)
            if user is None or not self.token_generator.check_token(user, token):
                self.validlink = False
                return self.render_to_response(self.get_context_data())
            answer = super().form_valid(form)
            record(Act.USER_PASSWORD_SET, user=describe_user(form.user))
        messages.success(self.request, "Your password is set. Log in with it.")
        return answer


@private_form
def show_account(request: HttpRequest) -> HttpResponse:
    """Shows both forms of the page. Passwords are checked at the pace of logins, and wrong ones count as theirs."""
    if request.method != "POST":
        return answer_account(request)
    try:
        with password_turn():
            return answer_account(request)
    except TooManyPasswords:
        return refuse_busy(request)


def answer_account(request: HttpRequest) -> HttpResponse:
    """Shows or handles the page's forms; the button that was pressed says which one came."""
    user = cast("User", request.user)  # logged in
    wants_out = "everywhere" in request.POST
    is_post = request.method == "POST"
    if is_post and not wants_out and not has_password(user):
        raise PermissionDenied
    password = ChangePasswordForm(request, request.POST if is_post and not wants_out else None)
    out = LogOutForm(request, request.POST if is_post and wants_out else None)
    if password.is_bound and password.is_valid():
        with transaction.atomic():
            password.save()
            record(Act.USER_PASSWORD_SET, user=describe_user(user))
        return stay(request, user, "Your password is changed. All your other sessions have ended.")
    if out.is_bound and out.is_valid():
        # The same password with a new salt: sessions are signed with its hash.
        user.set_password(out.cleaned_data.get("password"))  # without a password, another one that no one knows
        with transaction.atomic():
            user.save(update_fields=["password"])
            record(Act.USER_SESSIONS_ENDED, user=describe_user(user))
        return stay(request, user, "All your other sessions have ended.")
    out.make_ready(may_change=True)
    status = 400 if is_post else 200
    is_linked = ProviderIdentity.objects.filter(user=user).exists()
    values = {"password": password, "out": out, "is_linked": is_linked} | context()
    return render(request, "dashboard/account/page.html", values, status=status)


def has_password(user: User) -> bool:
    """Returns whether a user logs in with a password."""
    return settings.PASSWORD_LOGIN and user.has_usable_password()


def stay(request: HttpRequest, user: User, message: str) -> HttpResponse:
    """Keeps this session, which the new hash would end with the others."""
    update_session_auth_hash(request, user)
    messages.success(request, message)
    return HttpResponseRedirect(reverse("account"))


def write_password_link(request: HttpRequest, user: User) -> str:
    """Returns an address by which the owner sets the password of an account, once, within `LINK_DAYS`."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    record(Act.USER_PASSWORD_LINK_CREATED, user=describe_user(user))
    token = default_token_generator.make_token(user)
    return request.build_absolute_uri(reverse("set-password", args=[uid, token]))
