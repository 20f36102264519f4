"""Below a path, a login by a provider leads there and back, to the page that was asked for, by cookies of the path."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from ops.supervisor.running import find_free_port
from projects.models import Membership
from tests.builders import make_project
from tests.dashboard.pages.logins.provider import Visitor, run_provider
from tests.deploy.below_path.serving import PATH, find_strays, run_below_path

pytestmark = [pytest.mark.stack, pytest.mark.slow(25), pytest.mark.django_db(transaction=True)]
PEOPLE = {name: {"preferred_username": name, "groups": [f"{name}s"]} for name in ("anna", "eve")}


def test_a_login_by_a_provider_keeps_to_the_path(tmp_path: Path) -> None:
    make_project("shop", name="The shop")
    port = find_free_port()
    site = f"http://127.0.0.1:{port}{PATH}"
    with (
        # It sends nobody to another address than this one, and refuses a request that names another.
        run_provider(f"{site}/login/provider/return/", PEOPLE) as provider,
        run_below_path(
            tmp_path,
            port,
            FIELDFLAME_OIDC_ISSUER=provider.issuer,
            FIELDFLAME_OIDC_CLIENT_ID="fieldflame",
            FIELDFLAME_OIDC_CLIENT_SECRET="a secret of tests",
            FIELDFLAME_OIDC_ROLES="annas=shop:admin",
        ),
    ):
        visitor, asked = Visitor(), f"{PATH}/projects/shop/settings/"
        _, url, page = visitor.get(f"http://127.0.0.1:{port}{asked}")
        assert url == f"{site}/login/?next={asked}"
        assert f'href="{PATH}/login/provider/?next=' in page
        assert find_strays(page) == []
        status, url, page = visitor.log_in(site, "anna", asked)
        assert (status, url) == (200, f"http://127.0.0.1:{port}{asked}")
        assert "The shop" in page
        ours = {cookie.name: cookie.path for cookie in visitor.cookies if cookie.name.startswith("fieldflame_")}
        assert ours == dict.fromkeys(("fieldflame_csrftoken", "fieldflame_sessionid"), PATH), ours
        # Without a page that was asked for, or with one of another site, it leads to the projects.
        for address in ("", "https://evil.example/", "//evil.example/"):
            assert Visitor().log_in(site, "anna", address)[1] == f"{site}/projects/"
        status, url, page = Visitor().log_in(site, "eve")
        assert (status, find_strays(page)) == (403, [])
        assert "None of your groups has access" in page
        assert url.startswith(f"{site}/login/provider/return/")
        # A link of an account with the provider comes back to the account.
        assert "Continue to" in visitor.post(f"{site}/account/", {"action": f"{site}/account/link/"})[2]
    assert list(Membership.objects.values_list("user__username", "role")) == [("anna", "admin")]
    assert list(User.objects.values_list("username", flat=True)) == ["anna"]
