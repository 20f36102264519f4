"""Display rules in exports beside a slice's sums: views on their clocks, segments, and a viewer's colours."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from aggregate.selectors.exports.segments import select_segmented_export
from aggregate.selectors.exports.slice_export import select_slice_export
from aggregate.selectors.exports.timelines import select_timeline_export
from profcore.code.display_rules import COLOURS
from profcore.formats.firefox.categories import RULED_COLOURS
from profcore.formats.registry import EXPORTERS
from projects.models import Project
from tests.aggregate.selectors.displayed_app import FOLD, show
from tests.envelopes import view_id_of

pytestmark = pytest.mark.django_db


def test_one_view_on_its_clock_shows_what_is_shown(app: Project) -> None:
    slice_ = replace(show(app, FOLD), views=(UUID(view_id_of("v0")),))
    export = select_timeline_export(slice_, project="Shop")
    (clock,) = export.views
    paths = set()
    for stack in range(len(clock.func)):
        path, at = [], stack
        while at >= 0:
            path.append(export.funcs[clock.func[at]].label)
            at = clock.prefix[at]
        paths.add(" ".join(reversed(path)))
    assert paths == {"app", "app React", "app React card", "app React card React"}
    plain = select_timeline_export(replace(slice_, as_stored=True), project="Shop")
    assert clock.samples.weight_us == plain.views[0].samples.weight_us
    assert [stack < 0 for stack in clock.samples.stack] == [stack < 0 for stack in plain.views[0].samples.stack]
    assert b"".join(EXPORTERS["firefox"].write(export))


def test_a_colour_is_a_category_of_that_colour_in_the_firefox_profiler(app: Project) -> None:
    slice_ = show(app, {**FOLD, "colour": "teal"})
    assert set(RULED_COLOURS) == set(COLOURS)
    profile = json.loads(b"".join(EXPORTERS["firefox"].write(select_slice_export(slice_, project="Shop"))))
    shared = profile["shared"]
    categories = {}
    for frame, func in enumerate(shared["frameTable"]["func"]):
        name = shared["stringArray"][shared["funcTable"]["name"][func]]
        categories[name] = profile["meta"]["categories"][shared["frameTable"]["category"][frame]]
    assert (categories["React"]["name"], categories["React"]["color"]) == ("Display rule: teal", "lightblue")
    assert categories["app"]["name"] == "JavaScript"


def test_a_firefox_profile_says_that_display_rules_were_applied(app: Project) -> None:
    slice_ = show(app, FOLD)
    one_view = replace(slice_, views=(UUID(view_id_of("v0")),))
    for export in (select_slice_export(slice_, project="Shop"), select_timeline_export(one_view, project="Shop")):
        assert b"1 of the project: names" in b"".join(EXPORTERS["firefox"].write(export))
    plain = select_slice_export(replace(slice_, as_stored=True), project="Shop")
    assert b"Display rules" not in b"".join(EXPORTERS["firefox"].write(plain))


def test_segments_have_what_is_shown(app: Project) -> None:
    slice_ = show(app, FOLD)
    for by in ("release", "category"):
        export = select_segmented_export(slice_, by, project="Shop")
        assert "React" in [func.label for func in export.whole.funcs]
        assert sum(sum(part.tree.self_us) for _, part in export.segments) == export.whole.time.js_us
