"""`./run`, for the list of commands: `manage.py` starts it before Django is loaded (ops/supervisor/start.py)."""

from django.core.management.base import BaseCommand, CommandError

from ops.supervisor.start import ABOUT


class Command(BaseCommand):
    help = ABOUT
    requires_system_checks = []

    def handle(self, *args: object, **options: object) -> None:
        raise CommandError("Start it by ./run, or by manage.py up.")
