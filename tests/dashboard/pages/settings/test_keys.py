"""Keys: made with origins, changed, revoked after a question; and a word on refused origins."""

from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from ingest.count_models import Refusal
from projects.key_cache import find_key
from projects.keys import change_forwarding, write_dsn_key
from projects.models import IngestKey, Project
from tests.builders import make_project
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, send, text_in


def test_a_key_is_made_and_its_tag_stands_there_to_copy(owner: Client, shop: Project) -> None:
    text = follow(owner, "keys/", origins="https://Shop.example/\n\nhttps://*.shop.example")
    key = IngestKey.objects.filter(project=shop).latest("pk")
    assert key.origins == ["https://shop.example", "https://*.shop.example"]
    assert f'<script async src="http://testserver/snippet/{key.public_key}.js" data-key="{key.public_key}"' in text
    assert "Document-Policy: js-profiling" in text


def test_the_lines_for_other_sdks_stand_there_to_copy(owner: Client, shop: Project) -> None:
    text = unescape(read(owner, "keys/"))
    dsn = f"http://{write_dsn_key('KEY-shop')}@testserver/sentry/{shop.pk}"
    assert f"const FIELDFLAME = '{dsn}';" in text
    assert text.count(dsn) > 1
    assert "Sentry.makeMultiplexedTransport(" in text
    assert "`http://testserver/datadog/KEY-shop${path}?${parameters}`" in text
    follow(owner, f"keys/{shop.keys.get().pk}/revoke/")
    assert "makeMultiplexedTransport" not in read(owner, "keys/")


def test_each_wrong_origin_is_named_and_what_was_typed_stays(owner: Client, shop: Project) -> None:
    response = send(owner, "keys/", origins="shop.example\nhttps://shop.example/cart")
    assert response.status_code == 400
    assert "“shop.example” has no scheme. Did you mean https://shop.example?" in text_in(response)
    assert "“https://shop.example/cart” has a path." in text_in(response)
    assert ">\nshop.example\nhttps://shop.example/cart</textarea>" in response.content.decode()
    assert IngestKey.objects.filter(project=shop).count() == 1


def test_origins_are_changed(owner: Client, shop: Project) -> None:
    key = shop.keys.get()
    assert read(owner, f"keys/{key.pk}/").count("Key KEY-shop") == 1
    assert "The key is saved" in follow(owner, f"keys/{key.pk}/", origins="https://new.example")
    assert IngestKey.objects.get(pk=key.pk).origins == ["https://new.example"]
    assert "is not an origin" in text_in(send(owner, f"keys/{key.pk}/", origins="https://"))


def test_a_key_is_revoked_after_a_question_that_says_what_stops(owner: Client, shop: Project) -> None:
    key = shop.keys.get()
    question = read(owner, f"keys/{key.pk}/revoke/")
    assert "This is the only active key:" in question
    assert find_key(key.public_key) is not None
    text = follow(owner, f"keys/{key.pk}/revoke/")
    assert "No active key" in text
    assert "1 revoked key" in text
    assert find_key(key.public_key) is None
    assert owner.get(f"{SETTINGS}keys/{key.pk}/").status_code == 404  # neither changed nor revoked again
    assert owner.post(f"{SETTINGS}keys/{key.pk}/revoke/").status_code == 404


def test_refusals_for_the_origin_are_shown_where_there_are_some(owner: Client, shop: Project) -> None:
    def refuse(project: Project, reason: str, count: int, age: timedelta) -> None:
        hour_at = datetime.now(UTC) - age
        Refusal.objects.create(project=project, hour_at=hour_at, reason=reason, shard=0, count=count)

    refuse(shop, "rate_limited", 7, timedelta(hours=2))
    refuse(shop, "origin_not_allowed", 5, timedelta(days=8))
    refuse(make_project("other"), "origin_not_allowed", 9, timedelta(hours=2))
    assert "refused" not in read(owner, "keys/")
    refuse(shop, "origin_not_allowed", 3, timedelta(hours=2))
    text = read(owner, "keys/")
    assert "3 traces of the last 7 days were refused because their origin is not allowed for this key." in text


@pytest.mark.parametrize("address", ["keys/{}/", "keys/{}/revoke/"])
def test_a_key_of_another_project_is_not_found(owner: Client, shop: Project, address: str) -> None:
    key = make_project("other").keys.get()
    assert owner.get(SETTINGS + address.format(key.pk)).status_code == 404
    assert owner.post(SETTINGS + address.format(key.pk), {"origins": "*"}).status_code == 404
    assert IngestKey.objects.get(pk=key.pk).revoked_at is None


def test_a_key_passes_on_to_a_site_of_datadog_or_to_none(owner: Client, shop: Project) -> None:
    key = shop.keys.get()
    address = f"{SETTINGS}keys/{key.pk}/"
    for site in ("datadoghq.eu", ""):
        assert owner.post(address, {"origins": "*", "forwards_to": site}).status_code == 302
        key.refresh_from_db()
        assert key.forwards_to == site
    assert owner.post(address, {"origins": "*", "forwards_to": "evil.example"}).status_code == 400
    with pytest.raises(ValidationError, match="Choose a site"):
        change_forwarding(key, "evil.example")
