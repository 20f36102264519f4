"""Identity across releases: content hashes go, everything that tells functions apart stays."""

import pytest

from profcore.funcs import FuncKey
from profcore.identity import identity_of, without_hash


@pytest.mark.parametrize(
    ("uri", "bare"),
    [
        ("https://a.example/assets/main-QK26TYEB.js", "https://a.example/assets/main.js"),
        ("https://a.example/assets/chunk-FDIM3RJZ.js", "https://a.example/assets/chunk.js"),
        ("https://a.example/assets/chunks/treemap-HFKJTDXY.js", "https://a.example/assets/chunks/treemap.js"),
        ("https://a.example/static/js/main.3f8a9c1d.chunk.js", "https://a.example/static/js/main.chunk.js"),
        ("https://a.example/assets/index-BxK2pQ9a.js", "https://a.example/assets/index.js"),
        ("https://a.example/assets/vendor~app.0a1b2c3d4e5f6a7b8c9d.js", "https://a.example/assets/vendor~app.js"),
        ("https://a.example/app.js", "https://a.example/app.js"),
        ("https://a.example/checkout-components.js", "https://a.example/checkout-components.js"),
        ("https://a.example/jquery-3.7.1.min.js", "https://a.example/jquery-3.7.1.min.js"),
        ("https://a.example/product/:id", "https://a.example/product/:id"),
        ("https://a.example/b-QK26TYEB/app.js", "https://a.example/b-QK26TYEB/app.js"),
        ("data:", "data:"),
        ("", ""),
    ],
)
def test_the_content_hash_of_a_file_name_goes(uri: str, bare: str) -> None:
    assert without_hash(uri) == bare


def test_name_and_position_tell_functions_apart() -> None:
    key = FuncKey("https://a.example/main-QK26TYEB.js", 2, 13319, "Xt")
    other_release = key._replace(uri="https://a.example/main-ALYJKYDD.js")
    assert identity_of(key) == identity_of(other_release)
    for different in (key._replace(line=3), key._replace(column=1), key._replace(name="Xu"), key._replace(uri=None)):
        assert identity_of(different) != identity_of(key)
