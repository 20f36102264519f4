"""Which user agents are bots, and whose pages only a developer visits."""

import time

import pytest

from profcore.trace.bots import is_bot, is_local_page

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
NEXUS = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36"
BOTS = [
    CHROME.replace("Chrome/", "HeadlessChrome/"),
    f"{NEXUS} Chrome-Lighthouse",
    f"{CHROME} DatadogSynthetics",
    "Mozilla/5.0 AppleWebKit/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/150.0",
    f"{NEXUS} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    f"{NEXUS} (compatible; Google-InspectionTool/1.0;)",
    "Mozilla/5.0 AppleWebKit/537.36 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/150.0",
    f"{CHROME} PTST/240101.120000",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)",
    "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17 Safari/605.1.15 (Applebot/0.1)",
    "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
    "Mozilla/5.0 AppleWebKit/537.36 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Mozilla/5.0 (compatible; AhrefsSiteAudit/6.1; +http://ahrefs.com/robot/site-audit)",
    f"{CHROME} RuxitSynthetic/1.0 v123",
    f"{CHROME} Pingdom.com_bot_version_1.4",
    "Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1",
    f"{CHROME} Checkly/1.0",
    f"{CHROME} GTmetrix",
    f"webdriver {CHROME}",
    "Mozilla/5.0 (compatible; SomeNewBot/1.0)",
    "AdsBot-Google (+http://www.google.com/adsbot.html)",
]
PEOPLE = [
    CHROME,
    NEXUS,
    f"{CHROME} Edg/150.0.0.0",
    f"{CHROME} OPR/120.0",
    "Mozilla/5.0 (Linux; Android 8.1.0; CUBOT_X18_Plus) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 9; CUBOT NOTE 20) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) AppleWebKit/537.36 Version/4.0 Chrome/150.0 Mobile Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Instagram 340.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/150.0 Electron/30.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "curl/8.0",
    "",
]


@pytest.mark.parametrize("agent", BOTS)
def test_a_bot_is_known_in_any_case(agent: str) -> None:
    assert is_bot(agent)
    assert is_bot(agent.upper())


@pytest.mark.parametrize("agent", PEOPLE)
def test_a_persons_browser_is_no_bot(agent: str) -> None:
    assert not is_bot(agent)


@pytest.mark.parametrize("text", ["a" * 1_000, "crawl" * 200, "elastic-" * 125, "cubot" * 200, "page " * 200])
def test_no_text_takes_long(text: str) -> None:
    began = time.perf_counter()
    for _ in range(20):
        is_bot(text)
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:3000/a", True),
        ("http://shop.localhost/", True),
        ("http://127.0.0.1:8391/", True),
        ("https://[::1]/", True),
        ("https://shop.test/", True),
        ("https://shop.example/", False),
        ("https://localhost.shop.example/", False),
        ("https://contest/", False),
        ("https://127.0.0.1.shop.example/", False),
        ("/cart", False),
        ("https://[", False),
        ("", False),
        (None, False),
    ],
)
def test_a_local_page_has_a_name_that_no_public_server_has(url: str | None, is_local: bool) -> None:
    assert is_local_page(url) is is_local
