"""The first start makes an admin, and only it says the password."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from ops.prepare import ADMIN, ensure_admin
from ops.supervisor.folder import DataFolder


@pytest.mark.django_db
def test_only_the_start_that_makes_the_admin_says_its_password(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    first = ensure_admin(folder)
    admin = User.objects.get(username=ADMIN)
    assert admin.check_password(first["password"])
    assert folder.admin_password.read_text().strip() == first["password"]
    assert ensure_admin(folder) == {"user": ADMIN}
    admin.set_password("changed")
    admin.save()
    assert ensure_admin(folder) == {}
