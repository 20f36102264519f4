"""Bots: browsers that nobody sits in front of. Crawlers, synthetic checks, and browsers that a program drives.

They are a browser family of their own (`bot`), which sums leave out unless it is asked for. The words are a short
choice from the lists of isbot (https://github.com/omrilotan/isbot) and crawler-user-agents
(https://github.com/monperrus/crawler-user-agents): those that run scripts, so that they can send a trace.
"""

import re
from typing import Final
from urllib.parse import urlsplit

# What the snippet puts before the user agent of a browser whose `navigator.webdriver` is true.
WEBDRIVER: Final = "webdriver"
# Most name themselves "…bot", such as Googlebot, bingbot or GPTBot, "…spider" or "…crawler". CUBOT makes phones.
KINDS: Final = r"(?<!cu)bots?(?![a-z])|spider(?![a-z])|crawl(?:er)?(?![a-z])"
NAMES: Final = (
    *("headless", "phantomjs", "puppeteer", "playwright", "selenium", "cypress/", "jsdom", WEBDRIVER),
    # Laboratories.
    *(
        "lighthouse",
        "page ?speed",
        "ptst/",
        "webpagetest",
        "gtmetrix",
        "speedcurve",
        "calibre",
        "sitespeed",
        "yellowlab",
    ),
    # Synthetic checks.
    *("synthetic", "pingdom", "uptime", "statuscake", "site24x7", "checkly", "catchpoint", "newrelicpinger", "monitis"),
    *("better ?stack", "hetrixtools", "nodeping", "freshping", "elastic-?heartbeat", "rigor", "dareboost"),
    # Crawlers and previews whose name does not say so.
    *("google-inspectiontool", "mediapartners-google", "google-read-aloud", "google web preview", "bingpreview"),
    *("facebookexternalhit", "facebookcatalog", "meta-external", "whatsapp/", "skypeuripreview", "slack-imgproxy"),
    *(
        "yahoo! slurp",
        "screaming frog",
        "prerender",
        "rendertron",
        "embedly",
        "archive.org",
        "chatgpt-user",
        "claude-user",
    ),
    *(
        "perplexity-user",
        "cohere-ai",
        "semrush",
        "ahrefs",
        "dataprovider",
        "netcraft",
        "w3c_validator",
        "snap url preview",
    ),
)
BOT: Final = re.compile("|".join((KINDS, *NAMES)), re.IGNORECASE)
# Names that no public server has (RFC 6761), and this machine: only a developer visits them, by whatever browser.
LOCAL_HOST: Final = re.compile(r"127(?:\.[0-9]{1,3}){3}|::1|(?:.*\.)?(?:localhost|test)", re.DOTALL)


def is_bot(user_agent: str) -> bool:
    """Returns whether a user agent names a bot. It is bounded by the caller."""
    return BOT.search(user_agent) is not None


def is_local_page(url: str | None) -> bool:
    """Returns whether a page's address is one that only its developer visits."""
    try:
        host = urlsplit(url or "").hostname
    except ValueError:
        return False
    return host is not None and LOCAL_HOST.fullmatch(host) is not None
