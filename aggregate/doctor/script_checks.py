"""Checks of the page's scripts: which are invisible for lack of CORS, and which have no source map."""

import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from django.db.models import Q

from aggregate.doctor.findings import Finding, ok, warning
from aggregate.doctor.tag_checks import SnippetTag, origin_of
from aggregate.doctor.visiting import FetchedScript, VisitResult, is_cors
from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.wildcards import is_among
from profcore.trace.addresses import wildcard_forms
from profcore.trace.funcs import resource_uri
from projects.key_cache import is_origin_allowed
from projects.models import IngestKey

CORS_LINE = "Access-Control-Allow-Origin: *"


def check_loading(result: VisitResult, page_origin: str, tags: Sequence[SnippetTag]) -> Iterator[Finding]:
    """Yields which scripts of other origins a profile cannot see."""
    assert result.markup is not None
    ours = {tag.url for tag in tags}
    foreign = [script for script in result.scripts if script.is_foreign and script.url not in ours]
    unasked, refused, failed, good = [], [], [], []
    for script in foreign:
        tag = result.markup.scripts[script.tag]
        if script.failure or script.status not in (200, 206):
            failed.append(script.url)
        elif not allows_origin(script, page_origin, tag.attributes.get("crossorigin", "").lower() == "use-credentials"):
            refused.append(script.url)
        elif not is_cors(tag):
            unasked.append(script.url)
        else:
            good.append(script.url)
    if refused:
        yield warning(
            "cors",
            f"{count(refused, 'script')} of other origins {plural(refused, 'comes', 'come')} without a CORS header: "
            "profiles cannot see what runs there. If it is yours, add the header, then crossorigin to the tag.",
            line=CORS_LINE,
            about=refused,
        )
    if unasked:
        yield warning(
            "crossorigin",
            f"{count(unasked, 'script')} of other origins {plural(unasked, 'has', 'have')} a CORS header, but no "
            "crossorigin attribute: profiles cannot see what runs there.",
            line=f'<script src="{unasked[0]}" crossorigin></script>',
            about=unasked,
        )
    if failed:
        yield warning("scripts", f"{count(failed, 'script')} of other origins could not be loaded.", about=failed)
    if good or not foreign:
        yield ok(
            "cors",
            f"Profiles can see {count(good, 'script')} of other origins."
            if good
            else "The page loads no other scripts from other origins.",
            about=good,
        )
    if result.scripts_left:
        yield warning(
            "scripts-left",
            f"{result.scripts_left} more scripts were not looked at: a visit is bounded in scripts and time.",
        )


def allows_origin(script: FetchedScript, origin: str, with_credentials: bool) -> bool:
    """Returns whether a script's CORS header lets the page's origin read it."""
    allowed = script.allow_origin.strip()
    if with_credentials:
        return allowed == origin and script.allow_credentials.strip() == "true"
    return allowed in ("*", origin)


def check_maps(
    result: VisitResult, tags: Sequence[SnippetTag], key: IngestKey | None, release: str, page_origin: str
) -> Iterator[Finding]:
    """Yields which of the project's own scripts have source maps: uploaded, or public only."""
    skipped = {tag.url for tag in tags}
    own_scripts = [
        script for script in result.scripts if script.url not in skipped and is_own(script, page_origin, key)
    ]
    own_scripts = [script for script in own_scripts if script.status in (200, 206)]
    if not own_scripts:
        yield ok("source-maps", "The page loads no files of its own that could have source maps.")
        return
    uploaded = select_uploaded(key.project_id, release, [script.url for script in own_scripts]) if key else set()
    have = [script.url for script in own_scripts if clean(script.url) in uploaded]
    public = [script.url for script in own_scripts if script.url not in have and script.map_url]
    none = [script.url for script in own_scripts if script.url not in have and not script.map_url]
    if have:
        yield ok(
            "source-maps", f"{count(have, 'script')} {plural(have, 'has', 'have')} an uploaded source map.", about=have
        )
    project = key.project.slug if key else "PROJECT"
    line = (
        f"./run upload_sourcemaps --project {project} --release {shlex.quote(release or 'RELEASE')} "
        f"--url-prefix {shlex.quote(prefix_of(own_scripts[0].url))} dist/"
    )
    if public:
        yield warning(
            "source-maps",
            f"{count(public, 'script')} {plural(public, 'has', 'have')} a public source map, but no uploaded one. "
            "Names come from uploaded maps only.",
            line=line,
            about=public,
        )
    if none:
        yield warning(
            "source-maps",
            f"{count(none, 'script')} {plural(none, 'has', 'have')} no source map, so minified names stay minified.",
            line=line,
            about=none,
        )


def is_own(script: FetchedScript, page_origin: str, key: IngestKey | None) -> bool:
    """Returns whether a script belongs to the site: it is of the page's origin, or of one that the key names."""
    if not script.is_foreign:
        return True
    named = tuple(origin for origin in key.origins if origin not in ("*", "null")) if key else ()
    return bool(named) and is_origin_allowed(origin_of(script.url) or "null", named)


def select_uploaded(project_id: int, release: str, urls: Sequence[str]) -> set[str]:
    """Returns the URIs among some scripts that have a map: of this release, or of any if the URL has a content hash."""
    uris = [clean(url) for url in urls]
    named = [name for uri in uris for name in (uri, *wildcard_forms(uri))]
    rows = ReleaseScript.objects.filter(
        Q(release=release) | Q(is_shared=True), project_id=project_id, uri__in=named, map_id__isnull=False
    )
    scripts = set(rows.values_list("uri", flat=True))
    return {uri for uri in uris if is_among(uri, scripts)}


def clean(url: str) -> str:
    """Returns the URI of a script as functions have it."""
    return resource_uri(url, None, "")


def prefix_of(url: str) -> str:
    """Returns the folder of a script's URL."""
    return origin_of(url) + urlsplit(url).path.rpartition("/")[0] + "/"


def count(urls: Sequence[str], word: str) -> str:
    """Returns a number with its word."""
    return f"{len(urls)} {word}{'' if len(urls) == 1 else 's'}"


def plural(urls: Sequence[str], singular: str, many: str) -> str:
    """Returns the verb for this number of URLs."""
    return singular if len(urls) == 1 else many
