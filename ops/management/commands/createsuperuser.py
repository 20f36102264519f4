"""Django's `createsuperuser`, which also writes to the log of administration."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.models import User
from django.db import transaction

from projects.audit.acts import Act
from projects.audit.entries import describe_user, record


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:  # Any: argparse's values
        with transaction.atomic():
            known = set(User.objects.filter(is_superuser=True).values_list("pk", flat=True))
            super().handle(*args, **options)
            for user in User.objects.filter(is_superuser=True).exclude(pk__in=known):
                record(Act.USER_CREATED, user=describe_user(user))
                record(Act.USER_PROMOTED, user=describe_user(user))
