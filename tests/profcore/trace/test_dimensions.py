"""Device class, browser and the reason why a trace ended: closed sets with stable codes."""

import pytest
import ua_parser

from profcore.trace.dimensions import (
    BROWSERS,
    DEVICE_CLASSES,
    END_REASONS,
    NAVIGATIONS,
    classify_browser,
    classify_device,
    classify_end_reason,
    classify_navigation,
    is_truncating,
)


def test_codes_are_stored_so_the_tuples_only_ever_grow_at_the_end() -> None:
    assert DEVICE_CLASSES[:7] == (
        "unknown",
        "desktop",
        "desktop-low",
        "desktop-high",
        "mobile",
        "mobile-low",
        "mobile-high",
    )
    assert BROWSERS[:10] == (
        "unknown",
        "chrome",
        "edge",
        "opera",
        "samsung",
        "firefox",
        "safari",
        "webview",
        "electron",
        "other",
    )
    assert END_REASONS[:12] == (
        "unknown",
        "stop",
        "timer",
        "timeout",
        "samplebufferfull",
        "pagehide",
        "other",
        "hidden",
        "freeze",
        "beforeunload",
        "route",
        "prerender",
    )
    assert NAVIGATIONS[:7] == ("unknown", "load", "reload", "back_forward", "route", "bfcache", "prerender")


def test_a_navigation_that_is_not_sent_is_unknown() -> None:
    assert [classify_navigation(word) for word in (None, *NAVIGATIONS[1:])] == list(range(7))


# The table of docs/dimensions.md, row by row.
DEVICE_TABLE = [
    (None, None, None, "unknown"),
    (8.0, 16, None, "unknown"),
    (None, None, False, "desktop"),
    (None, None, True, "mobile"),
    (None, 4, False, "desktop-low"),
    (None, 5, False, "desktop-high"),
    (3.9, None, False, "desktop-low"),
    (4.0, None, False, "desktop-high"),
    (4.0, 4, False, "desktop-low"),
    (2.0, 8, False, "desktop-low"),
    (8.0, 8, False, "desktop-high"),
    (None, 4, True, "mobile-low"),
    (None, 8, True, "mobile-high"),
    (0.0, None, True, "mobile-low"),
    (None, 0, True, "mobile-low"),
    (8.0, 8, True, "mobile-high"),
]


@pytest.mark.parametrize(("memory", "cores", "is_mobile", "name"), DEVICE_TABLE)
def test_a_device_has_the_class_of_its_facts(
    memory: float | None, cores: int | None, is_mobile: bool | None, name: str
) -> None:
    assert DEVICE_CLASSES[classify_device(memory, cores, is_mobile)] == name


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (None, "unknown"),
        ("", "unknown"),
        ("Chrome", "chrome"),
        ("CHROME MOBILE", "chrome"),
        ("Chrome Mobile iOS", "safari"),
        ("Edge", "edge"),
        ("Chrome Mobile WebView", "webview"),
        ("Lynx", "other"),
        ("unknown", "other"),
    ],
)
def test_a_browser_has_the_code_of_its_family(family: str | None, name: str) -> None:
    assert BROWSERS[classify_browser(family)] == name


AGENT = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) {}"
X11, ANDROID = "X11; Linux x86_64", "Linux; Android 10; K"


@pytest.mark.parametrize(
    ("platform", "rest", "name"),
    [
        (X11, "Chrome/150.0.0.0 Safari/537.36", "chrome"),
        (X11, "HeadlessChrome/150.0.0.0 Safari/537.36", "chrome"),
        (ANDROID, "Chrome/150.0.0.0 Mobile Safari/537.36", "chrome"),
        (X11, "Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0", "edge"),
        (ANDROID, "Chrome/150.0.0.0 Mobile Safari/537.36 EdgA/150.0.0.0", "edge"),
        (X11, "Chrome/150.0.0.0 Safari/537.36 OPR/120.0.0.0", "opera"),
        (ANDROID, "SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36", "samsung"),
        (ANDROID + "; wv", "Version/4.0 Chrome/150.0.0.0 Mobile Safari/537.36", "webview"),
        (X11, "App/1.0.0 Chrome/150.0.0.0 Electron/40.0.0 Safari/537.36", "electron"),
    ],
)
def test_the_families_are_those_that_the_parser_names(platform: str, rest: str, name: str) -> None:
    parsed = ua_parser.parse_user_agent(AGENT.format(platform, rest))
    assert parsed is not None
    assert BROWSERS[classify_browser(parsed.family)] == name


@pytest.mark.parametrize(
    ("reason", "name", "truncates"),
    [
        (None, "unknown", False),
        ("", "unknown", False),
        ("stop", "stop", False),
        ("timer", "timer", False),
        ("timeout", "timeout", False),
        ("samplebufferfull", "samplebufferfull", True),
        ("buffer-full", "samplebufferfull", True),
        ("pagehide", "pagehide", True),
        ("hidden", "hidden", False),
        ("freeze", "freeze", False),
        ("beforeunload", "beforeunload", False),
        ("route", "route", False),
        ("prerender", "prerender", False),
        ("the user closed /account/81724", "other", False),
        ("Stop", "other", False),
    ],
)
def test_a_free_text_of_the_client_is_never_stored_as_a_reason(reason: str | None, name: str, truncates: bool) -> None:
    code = classify_end_reason(reason)
    assert END_REASONS[code] == name
    assert is_truncating(code) is truncates
