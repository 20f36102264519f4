"""A project whose function `draw` became slower."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_group, make_project
from tests.envelopes import make_envelope


@pytest.fixture
def busy(client: Client, db: None) -> Project:
    """Two releases with forty views of /cart and ten of /list; `draw` takes thrice as long in the second."""
    project = make_project("busy")
    for order, (release, times) in enumerate((("1.0.0", 1), ("2.0.0", 3))):
        drawn = "\n".join(["main draw"] * 2 * times)
        views = [make_envelope(f"{release}-{n}", f"{drawn}\nmain\n-", release=release) for n in range(40)]
        calm = [make_envelope(f"{release}-l{n}", "main\n-", release=release, page="/list") for n in range(10)]
        for envelope in (*views, *calm):
            for frame in envelope["trace"]["frames"]:
                frame["column"] = {"main": 10, "draw": 11}[frame["name"]]
        post("KEY-busy", *views, *calm)
        make_group(project, release, "/cart", first_seen_at=timezone.now() - timedelta(days=9 - order))
    fold_all()
    client.force_login(User.objects.create_superuser("root"))
    return project
