"""The dimensions of a view, derived from its envelope and the headers of the request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ua_parser import Parser
from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

from profcore.caching import cached
from profcore.trace.bots import is_bot, is_local_page
from profcore.trace.dimensions import (
    BOT,
    BROWSER,
    CACHE,
    CAPTURE,
    DEVICE,
    DIMENSIONS,
    ENVIRONMENT,
    NAVIGATION,
    SDK,
    Dimension,
    classify_browser,
    classify_cache,
    classify_device,
    classify_environment,
    classify_navigation,
    classify_sdk,
)
from profcore.trace.wire import Envelope

MAX_HEADER_CHARS: Final = 2_000
MAX_USER_AGENT_CHARS: Final = 1_000  # browsers send up to 300; text after that identifies no browser


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderHeaders:
    """The headers of a request from which dimensions are derived. An import has none."""

    user_agent: str = ""


NO_HEADERS: Final = SenderHeaders()


def read_sender_headers(environ: Mapping[str, Any]) -> SenderHeaders:  # Any: WSGI's own types
    """Returns the headers of a WSGI request, bounded."""
    return SenderHeaders(user_agent=environ.get("HTTP_USER_AGENT", "")[:MAX_HEADER_CHARS])


@cached(entries=10_000, chars=MAX_USER_AGENT_CHARS)
def browser_of(user_agent: str) -> int:
    """Returns the browser code of a user agent. Results are cached, because field traffic repeats itself."""
    return BOT if is_bot(user_agent[:MAX_USER_AGENT_CHARS]) else _family_of(user_agent)


@cache
def load_parser() -> Parser:
    """Returns the parser of browsers only, 8 MB: with those of systems and devices, as by default, it takes 23."""
    browsers, _, _ = load_lazy_builtins()
    return Parser(Resolver((browsers, [], [])))


def _family_of(user_agent: str) -> int:
    parsed = load_parser().parse_user_agent(user_agent[:MAX_USER_AGENT_CHARS])
    return classify_browser(parsed.family if parsed else None)


def _browser_of(envelope: Envelope, headers: SenderHeaders) -> int:
    agent = envelope.userAgent or headers.user_agent
    code = browser_of(agent)
    return _family_of(agent) if code == BOT and is_local_page(envelope.url) else code


def _device_of(envelope: Envelope, headers: SenderHeaders) -> int:
    device = envelope.device
    agent = envelope.userAgent or headers.user_agent
    is_mobile = device.mobile if device is not None else None
    if is_mobile is None and agent:
        is_mobile = "Mobi" in agent  # browsers put it there for exactly this purpose
    cores = None if device is None or device.cores is None else int(device.cores)
    return classify_device(device.memory if device is not None else None, cores, is_mobile)


CODE_OF: Final[Mapping[Dimension, Callable[[Envelope, SenderHeaders], int]]] = {
    DEVICE: _device_of,
    BROWSER: _browser_of,
    NAVIGATION: lambda envelope, _: classify_navigation(envelope.navigation),
    CACHE: lambda envelope, _: classify_cache(envelope.cache),
    ENVIRONMENT: lambda envelope, _: classify_environment(envelope.environment),
    SDK: lambda envelope, _: classify_sdk(None if envelope.snippet else envelope.tags),  # a site's own tag may be `sdk`
    CAPTURE: lambda envelope, _: int(bool(envelope.onlySlow)),
}


def read_codes(envelope: Envelope, headers: SenderHeaders) -> list[int]:
    """Returns the code of each dimension, in the order of `DIMENSIONS`."""
    return [CODE_OF[dimension](envelope, headers) for dimension in DIMENSIONS]
