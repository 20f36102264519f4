"""Preparation before anything serves: the schema with coming partitions, the static files, the first user."""

import hashlib
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import transaction

from ops.supervisor.folder import DataFolder, write_private
from projects.audit.acts import Act
from projects.audit.entries import describe_user, record

ADMIN = "admin"


def prepare(*, verbosity: int) -> dict[str, str]:
    """Migrates, collects static files and creates the first user; returns the login to show, empty if unknown."""
    call_command("migrate", verbosity=verbosity, interactive=False)
    collect_static_files(Path(settings.STATIC_ROOT))
    return ensure_admin(DataFolder(Path(settings.DATA_DIR)))


def collect_static_files(root: Path) -> None:
    """Collects and compresses the static files if they have changed: it takes 3 s, and most starts change none."""
    digest = digest_static_files()
    stamp = root.with_name(f"{root.name}.digest")
    if root.is_dir() and stamp.exists() and stamp.read_text(encoding="ascii") == digest:
        return
    stamp.unlink(missing_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False)
    write_private(stamp, digest)


def digest_static_files() -> str:
    """Returns a digest of every static file's name, size and time."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def ensure_admin(folder: DataFolder) -> dict[str, str]:
    """Creates a superuser with a random password if there is none, and keeps the password in the data folder.

    Returns {"user", "password"} if it was created now, {"user"} as long as the kept password is the user's, and nothing
    once it was changed: what keeps the output of each start need not have the password.
    """
    users: type[User] = get_user_model()
    if not users.objects.filter(is_superuser=True).exists():
        password = secrets.token_urlsafe(12)
        # Kept first: if a start is interrupted in between, the next one creates the user with a new password.
        write_private(folder.admin_password, password + "\n")
        with transaction.atomic():
            record(Act.USER_CREATED, user=describe_user(users.objects.create_superuser(ADMIN, password=password)))
        return {"user": ADMIN, "password": password}
    if not folder.admin_password.exists():
        return {}
    password = folder.admin_password.read_text(encoding="utf-8").strip()
    admin = users.objects.filter(username=ADMIN, is_active=True).first()
    return {"user": ADMIN} if admin is not None and admin.check_password(password) else {}
