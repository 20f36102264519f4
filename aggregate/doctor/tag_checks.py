"""Checks of the snippet's tag: its place, its attributes, its key, and the page's Content-Security-Policy."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from aggregate.doctor.addresses import RefusedAddress, split_url
from aggregate.doctor.findings import MAX_QUOTED_CHARS, Finding, ok, problem, quote, warning
from aggregate.doctor.header_checks import read_announcement
from aggregate.doctor.markup import ScriptTag
from aggregate.doctor.policies import (
    Blocked,
    find_blocked_connection,
    find_blocked_inline,
    find_blocked_script,
    read_policies,
)
from aggregate.doctor.visiting import Hop, VisitResult, urljoin_safely
from projects.key_cache import MAX_KEY_CHARS, is_origin_allowed
from projects.models import IngestKey, Project

SNIPPET_PATH: Final = re.compile(r"/snippet(?:\.js|/(?:full/)?([^/]+)\.js)$")
INGEST_PATH: Final = "/ingest/v1/traces"  # below this server's own path, as in its snippet
POLICY: Final = "content-security-policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetTag:
    """The snippet in a page: its place among the scripts, its URL, its key, and where it posts to."""

    at: int
    tag: ScriptTag
    url: str
    key: str
    endpoint: str

    @property
    def origin(self) -> str:
        """The origin that the snippet comes from."""
        return origin_of(self.url)


def origin_of(url: str) -> str:
    """Returns the origin of a URL as browsers write it; empty if it has none."""
    try:
        return split_url(url).origin
    except RefusedAddress:
        return ""


def find_tags(result: VisitResult, page: Hop) -> list[SnippetTag]:
    """Returns the snippet's tags in a page, in their order."""
    if result.markup is None:
        return []
    base = urljoin_safely(page.url, result.markup.base)
    tags = []
    for at, tag in enumerate(result.markup.scripts):
        src = tag.attributes.get("src", "").strip()
        url = urljoin_safely(base, src) if src else ""
        match = SNIPPET_PATH.search(urlsplit(url).path) if origin_of(url) else None
        if match is None or not (match[1] or "data-key" in tag.attributes):
            continue
        usual = origin_of(url) + settings.URL_PATH + INGEST_PATH
        endpoint = urljoin_safely(base, tag.attributes.get("data-endpoint", "") or usual)
        key = tag.attributes.get("data-key", "") or match[1] or ""
        tags.append(SnippetTag(at=at, tag=tag, url=url, key=key, endpoint=endpoint))
    return tags


def find_stub(scripts: Sequence[ScriptTag]) -> int | None:
    """Returns the place of the inline stub, which starts the profiler until the snippet is there."""
    stubs = (at for at, tag in enumerate(scripts) if "Profiler" in tag.text and "fieldflame" in tag.text)
    return next(stubs, None)


def check_place(result: VisitResult, tags: Sequence[SnippetTag], *, tag_line: str) -> Iterator[Finding]:
    """Yields whether the tag is there once, and whether it is early enough."""
    if not tags:
        where = " in the part that was read" if result.is_cut else ""
        yield problem(
            "tag",
            f"There is no tag of the snippet{where}. The doctor runs no scripts: it does not see a tag that a tag "
            "manager or a bundle adds.",
            line=tag_line,
        )
        return
    if len(tags) > 1:
        yield problem(
            "tag-count",
            f"The page has {len(tags)} tags of the snippet: each view would be recorded twice. Keep one.",
            about=[tag.url for tag in tags],
        )
    first, line = tags[0], write_tag(tags[0])
    assert result.markup is not None
    if first.tag.attributes.get("type", "").strip().lower() == "module" and find_stub(result.markup.scripts) is None:
        text = "The tag is a module, which runs late: it misses the first moments. Use async, and the stub before it."
        yield warning("tag", text, line=line)
    else:
        yield judge_place(first, result.markup.scripts, line)


def judge_place(first: SnippetTag, scripts: Sequence[ScriptTag], line: str) -> Finding:
    """Returns whether a tag, or the stub before it, runs before everything else."""
    stub = find_stub(scripts[: first.at])
    at = first.at if stub is None else stub
    is_late = "async" in first.tag.attributes or "defer" in first.tag.attributes
    if is_late and stub is None:
        return warning(
            "tag",
            "The tag has async or defer, and no stub before it: it misses the first moments, often the app’s start.",
            line=line,
        )
    if at > 0:
        others = "another script runs" if at == 1 else f"{at} other scripts run"
        sentence = f"{others[0].upper()}{others[1:]} before the snippet and cannot be recorded: put it first in <head>."
        return warning("tag", sentence, line=line)
    if not scripts[at].in_head:
        return warning("tag", "The tag is in <body>: put it first in <head>, so that it sees the load.", line=line)
    if scripts[at].styles_before and "src" in scripts[at].attributes:
        sentence = "A stylesheet is before the tag, and a script waits for it: put the tag first in <head>."
        return warning("tag", sentence, line=line)
    return ok("tag", "The tag is first in <head>." if stub is None else "The stub is first in <head>, the tag follows.")


def write_tag(snippet: SnippetTag) -> str:
    """Returns a tag as it should be: the same key and release, without async, defer or type."""
    kept = [
        f'{name}="{escape(value)}"' if value else name
        for name, value in snippet.tag.attributes.items()
        if name not in ("src", "async", "defer", "type", "crossorigin") and len(value) <= MAX_QUOTED_CHARS
    ]
    attributes = " ".join([f'src="{escape(snippet.url)}"', *kept])
    return f"<script {attributes} crossorigin></script>"


def check_served(result: VisitResult, tag: SnippetTag) -> Iterator[Finding]:
    """Yields whether the snippet's own file can be loaded."""
    fetched = next((script for script in result.scripts if script.url == tag.url), None)
    if fetched is None:
        return
    if fetched.failure:
        yield problem("snippet", f"The snippet cannot be loaded. {fetched.failure}", about=[tag.url])
    elif fetched.status not in (200, 206):
        yield problem(
            "snippet", f"The snippet cannot be loaded: its address is answered {fetched.status}.", about=[tag.url]
        )
    else:
        yield ok("snippet", "The snippet can be loaded.", about=[tag.url])
    if urlsplit(result_url(result)).scheme == "https" and urlsplit(tag.url).scheme == "http":
        yield problem(
            "snippet-https",
            "The page has https and the snippet http: browsers block it.",
            line=tag.url.replace("http:", "https:", 1),
        )


def result_url(result: VisitResult) -> str:
    """Returns the address of the page behind all redirects."""
    hops = result.hops if not result.failure else result.cookie_hops
    return hops[-1].url if hops else ""


def check_key(tag: SnippetTag, page: Hop, *, project: Project | None, wanted: str) -> Iterator[Finding]:
    """Yields whether the key lives, in this project if one is given, and whether the page's origin may use it."""
    if not tag.key:
        yield problem("key", "The tag has no key.", line=f'data-key="{wanted or "PUBLIC_KEY"}"')
        return
    if wanted and tag.key != wanted:
        yield problem(
            "key", f"The tag has the key {quote(tag.key)}, another one than asked for.", line=f'data-key="{wanted}"'
        )
    key = find_live_key(tag.key, project)
    if key is None:
        whose = "this project" if project else "this server"
        yield problem(
            "key",
            f"{quote(tag.key)} is no active key of {whose}: its traces are refused.",
            line='data-key="PUBLIC_KEY"',
        )
        return
    yield ok("key", "The key is active.")
    origin = origin_of(page.url)
    if is_origin_allowed(origin, tuple(key.origins)):
        yield ok("origin", f"The key may be used from {origin}.")
    else:
        yield problem("origin", f"The key may not be used from {origin}: its traces are refused.", line=origin)


def find_live_key(public_key: str, project: Project | None) -> IngestKey | None:
    """Returns an active key, of this project if one is given."""
    if len(public_key) > MAX_KEY_CHARS or "\0" in public_key:
        return None
    keys = IngestKey.objects.select_related("project").filter(public_key=public_key, revoked_at=None)
    return (keys.filter(project=project) if project else keys).first()


def find_own_key(project: Project) -> str:
    """Returns the oldest active key of a project, for a line to add; empty if there is none."""
    return project.keys.filter(revoked_at=None).order_by("pk").values_list("public_key", flat=True).first() or ""


def read_release(tag: SnippetTag, page: Hop) -> str:
    """Returns the release of a page: that of the tag, else what the server announces."""
    announced = read_announcement(page)
    return tag.tag.attributes.get("data-release", "") or (announced.values.get("release", "") if announced else "")


def check_release(tag: SnippetTag, page: Hop) -> Iterator[Finding]:
    """Yields whether the page says its release."""
    tag_release = tag.tag.attributes.get("data-release", "")
    announcement = read_announcement(page)
    announced = announcement.values.get("release", "") if announcement else ""
    if tag_release and announced and tag_release != announced:
        yield warning(
            "release",
            f"The tag says release {quote(tag_release)}, Server-Timing says {quote(announced)}.",
            line=f'data-release="{announced}"',
        )
    elif tag_release or announced:
        yield ok("release", f"The release is {quote(tag_release or announced)}.")
    else:
        yield problem("release", "The page does not say its release.", line='data-release="1.4.2"')


def check_policy(result: VisitResult, tag: SnippetTag, page: Hop) -> Iterator[Finding]:
    """Yields whether the page's Content-Security-Policy lets the snippet run and post."""
    assert result.markup is not None
    policies = read_policies([*page.lines(POLICY), *(text for name, text in result.markup.metas if name == POLICY)])
    if not policies:
        yield ok("csp", "The page has no Content-Security-Policy.")
        return
    blocked = find_blocked_script(policies, tag.tag, tag.url, page.url)
    if blocked is not None:
        yield problem(
            "csp-script", f"The policy’s {blocked.directive} blocks the snippet.", line=advise_script(blocked, tag)
        )
    else:
        yield ok("csp-script", "The Content-Security-Policy lets the snippet run.")
    stub = find_stub(result.markup.scripts)
    if stub is not None and (blocked_stub := find_blocked_inline(policies, result.markup.scripts[stub])) is not None:
        inline = result.markup.scripts[stub]
        yield problem(
            "csp-stub",
            f"The policy’s {blocked_stub.directive} blocks the inline stub.",
            line=f"{blocked_stub.directive} '{inline.hashes[0]}'",
        )
    blocked_post = find_blocked_connection(policies, tag.endpoint, page.url)
    if blocked_post is not None:
        host = origin_of(tag.endpoint)
        sources = " ".join(word for word in blocked_post.sources if word.lower() != "'none'")
        yield problem(
            "csp-connect",
            f"The policy’s {blocked_post.directive} blocks the snippet’s posts to {host}.",
            line=" ".join(f"connect-src {sources} {host}".split()),
        )
    else:
        yield ok("csp-connect", "The Content-Security-Policy lets the snippet post.")


def advise_script(blocked: Blocked, tag: SnippetTag) -> str:
    """Returns what lets a script run under a policy: its nonce, or its host."""
    lowered = [word.lower() for word in blocked.sources]
    nonce = any(word.startswith("'nonce-") for word in lowered)
    if "'strict-dynamic'" in lowered:
        return (
            'Give the tag the nonce of the page: <script nonce="…" src=…>'
            if nonce
            else ("Give the tag a nonce, and the policy the same one: 'strict-dynamic' ignores hosts.")
        )
    sources = " ".join(word for word in blocked.sources if word.lower() != "'none'")
    return " ".join(f"script-src {sources} {tag.origin}".split())
