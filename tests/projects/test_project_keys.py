"""Keys are made, bound to origins and ended; an origin that could never fit is refused, with a word of advice."""

import pytest
from django.core.exceptions import ValidationError

from projects.key_cache import find_key, is_origin_allowed
from projects.keys import MAX_ORIGINS, change_origins, clean_origins, create_key, revoke_key
from projects.models import IngestKey, Project
from tests.builders import make_project

SHOP = "https://shop.example"


@pytest.fixture
def shop(db: None) -> Project:
    return make_project("shop")


@pytest.mark.parametrize(
    ("entry", "origin"),
    [
        (SHOP, SHOP),
        ("  https://Shop.Example/ ", SHOP),
        ("https://shop.example:443", SHOP),
        ("http://localhost:80", "http://localhost"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("https://*.shop.example", "https://*.shop.example"),
        ("https://müller.example", "https://xn--mller-kva.example"),
        ("*", "*"),
        ("null", "null"),
    ],
)
def test_an_origin_is_kept_as_browsers_send_it(entry: str, origin: str) -> None:
    assert clean_origins([entry, "", entry]) == [origin]


@pytest.mark.parametrize("sent", [SHOP, "https://xn--mller-kva.example", "http://localhost"])
def test_what_is_kept_fits_what_browsers_send(sent: str) -> None:
    kept = clean_origins(["https://SHOP.example:443/", "https://müller.example", "http://localhost:80"])
    assert is_origin_allowed(sent, tuple(kept))


@pytest.mark.parametrize(
    ("entry", "advice"),
    [
        ("shop.example", "Did you mean https://shop.example"),
        ("https://shop.example/cart", "has a path"),
        ("https://shop.*", "first in the host"),
        ("https://", "is not an origin"),
        ("https://shop example", "is not an origin"),
        ("https://me@shop.example", "is not an origin"),
        ("https://shop.example:http", "is not an origin"),
        ("https://" + "a" * 300, "longer than 255"),
    ],
)
def test_what_can_never_fit_is_refused_with_advice(entry: str, advice: str) -> None:
    with pytest.raises(ValidationError) as error:
        clean_origins([SHOP, entry])
    (sentence,) = error.value.message_dict["origins"]
    assert advice in sentence


def test_every_wrong_entry_is_named_and_too_many_are_refused() -> None:
    with pytest.raises(ValidationError) as error:
        clean_origins(["a", "b", *(f"https://{n}.example" for n in range(MAX_ORIGINS + 1))])
    assert len(error.value.message_dict["origins"]) == 3


def test_a_new_key_is_taken_at_once_and_a_revoked_one_no_more(shop: Project) -> None:
    key = create_key(project=shop, origins=[SHOP])
    config = find_key(key.public_key)
    assert config is not None
    assert (config.project_id, config.origins) == (shop.pk, (SHOP,))
    assert revoke_key(key)
    assert find_key(key.public_key) is None
    ended_at = IngestKey.objects.get(pk=key.pk).revoked_at
    assert not revoke_key(key)
    assert IngestKey.objects.get(pk=key.pk).revoked_at == ended_at


def test_changed_origins_hold_at_once_and_a_wrong_one_changes_nothing(shop: Project) -> None:
    key = create_key(project=shop, origins=["*"])
    assert find_key(key.public_key) is not None  # it is cached
    change_origins(key, [SHOP])
    config = find_key(key.public_key)
    assert config is not None
    assert config.origins == (SHOP,)
    with pytest.raises(ValidationError):
        change_origins(key, ["shop"])
    assert IngestKey.objects.get(pk=key.pk).origins == [SHOP]
