"""Django's `changepassword`, which also writes to the log of administration."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.contrib.auth.models import User
from django.db import transaction

from projects.audit.acts import Act
from projects.audit.entries import describe_user, record


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:  # Any: argparse's values
        with transaction.atomic():
            before = dict(User.objects.values_list("pk", "password"))
            said: str | None = super().handle(*args, **options)
            for user in User.objects.all():
                if before.get(user.pk) != user.password:
                    record(Act.USER_PASSWORD_SET, user=describe_user(user))
        return said
