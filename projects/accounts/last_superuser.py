"""Who must stay, so that someone can administer the server."""

from django.contrib.auth.models import User

from projects.members import can_log_in


def is_last_superuser(user: User) -> bool:
    """Returns whether the server would have no superuser who can log in without this one."""
    superusers = User.objects.filter(is_superuser=True).exclude(pk=user.pk)
    return user.is_superuser and not superusers.filter(can_log_in()).exists()
