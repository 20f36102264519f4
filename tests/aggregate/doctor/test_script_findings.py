"""What the doctor says of a page's scripts: CORS and source maps."""

from collections.abc import Callable

import pytest

from aggregate.doctor.findings import Finding, State
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.uploading import store_build
from projects.models import Project
from tests.aggregate.doctor.site import VisitedSite

Look = Callable[..., dict[str, Finding]]
CORS = ("Access-Control-Allow-Origin", "*")
TAG = "<script src=/snippet.js data-key=shop-key data-release=1.0.0></script>"
MAP = b'{"version": 3, "sources": ["a.ts"], "names": [], "mappings": "AAAA"}'

pytestmark = pytest.mark.usefixtures("shop")


@pytest.mark.parametrize(
    ("attributes", "headers", "check", "state"),
    [
        ("crossorigin", [CORS], "cors", State.OK),
        ("type=module", [CORS], "cors", State.OK),
        ("", [CORS], "crossorigin", State.WARNING),
        ("crossorigin", [], "cors", State.WARNING),
        ("", [], "cors", State.WARNING),
        ("crossorigin", [("Access-Control-Allow-Origin", "https://elsewhere.example")], "cors", State.WARNING),
        ("crossorigin=use-credentials", [CORS], "cors", State.WARNING),
    ],
)
def test_a_script_of_another_origin_needs_both_sides(
    doctor: Look,
    site: VisitedSite,
    cdn: VisitedSite,
    attributes: str,
    headers: list[tuple[str, str]],
    check: str,
    state: State,
) -> None:
    cdn.set_script("/lib.js", headers=headers)
    site.set_page(f"<head>{TAG}<script src={cdn.origin}/lib.js {attributes}></script>")
    findings = doctor()
    assert findings[check].state is state
    assert list(findings[check].about) == [f"{cdn.origin}/lib.js"]
    assert cdn.headers_of("/lib.js")[0]["origin"] == site.origin


def test_a_script_that_cannot_be_loaded_is_named(doctor: Look, site: VisitedSite, cdn: VisitedSite) -> None:
    site.set_page(f"<head>{TAG}<script src={cdn.origin}/gone.js crossorigin></script>")
    assert list(doctor()["scripts"].about) == [f"{cdn.origin}/gone.js"]


def test_scripts_are_bounded_in_number(doctor: Look, site: VisitedSite, settings: pytest.FixtureRequest) -> None:
    settings.DOCTOR_MAX_SCRIPTS = 3  # type: ignore[attr-defined]  # pytest-django's settings
    for number in range(5):
        site.set_script(f"/{number}.js")
    site.set_page("<head>" + TAG + "".join(f"<script src=/{number}.js></script>" for number in range(5)))
    assert "3 more scripts" in doctor()["scripts-left"].sentence
    assert not site.headers_of("/2.js")


def upload(project: Project, site: VisitedSite, release: str, name: str = "app.js") -> None:
    files = [BuildFile(f"{name}.map", len(MAP), lambda: MAP)]
    store_build(project.pk, release=release, url_prefixes=[site.origin], files=files)


def test_an_uploaded_map_of_the_release_is_found(doctor: Look, site: VisitedSite, shop: Project) -> None:
    site.set_script("/app.js", "run()")
    site.set_page(f"<head>{TAG}<script src=/app.js?v=7></script>")
    upload(shop, site, "0.9.0")
    assert doctor()["source-maps"].state is State.WARNING
    upload(shop, site, "1.0.0")
    assert doctor()["source-maps"].state is State.OK


def test_a_map_of_a_script_with_a_content_hash_serves_all_releases(
    doctor: Look, site: VisitedSite, shop: Project
) -> None:
    site.set_script("/app-0a1b2c3d4e.js")
    site.set_page(f"<head>{TAG}<script src=/app-0a1b2c3d4e.js></script>")
    upload(shop, site, "0.9.0", "app-0a1b2c3d4e.js")
    assert doctor()["source-maps"].state is State.OK


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("run()\n//# sourceMappingURL=app.js.map", []),
        ("run()", [("SourceMap", "/app.js.map")]),
        ("run()", [("X-SourceMap", "/app.js.map")]),
        ("run()\n//# sourceMappingURL=data:application/json,{}", []),
    ],
)
def test_a_public_map_that_is_not_uploaded_is_reported(
    doctor: Look, site: VisitedSite, text: str, headers: list[tuple[str, str]]
) -> None:
    site.set_script("/app.js", text, headers)
    site.set_page(f"<head>{TAG}<script src=/app.js></script>")
    finding = doctor()["source-maps"]
    assert finding.state is State.WARNING
    assert "public source map" in finding.sentence
    assert finding.line == (f"./run upload_sourcemaps --project shop --release 1.0.0 --url-prefix {site.origin}/ dist/")


def test_a_script_without_any_map_is_reported(doctor: Look, site: VisitedSite) -> None:
    site.set_script("/app.js")
    site.set_page(f"<head>{TAG}<script src=/app.js></script>")
    assert "no source map" in doctor()["source-maps"].sentence


def test_scripts_of_strangers_need_no_maps(doctor: Look, site: VisitedSite, cdn: VisitedSite, shop: Project) -> None:
    shop.keys.update(origins=[site.origin])
    cdn.set_script("/lib.js", headers=[CORS])
    site.set_page(f"<head>{TAG}<script src={cdn.origin}/lib.js crossorigin></script>")
    assert doctor()["source-maps"].state is State.OK
    shop.keys.update(origins=[site.origin, cdn.origin])
    assert doctor()["source-maps"].state is State.WARNING


def test_a_release_of_shell_words_is_quoted_in_the_line(doctor: Look, site: VisitedSite) -> None:
    site.set_script("/app.js")
    site.set_page(f"<head>{TAG.replace('=1.0.0', '=&quot;1;reboot&quot;')}<script src=/app.js></script>")
    assert "--release '\"1;reboot\"' " in doctor()["source-maps"].line
