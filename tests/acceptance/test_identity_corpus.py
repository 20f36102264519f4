"""With labels from the apps' own source maps, functions of two hashed bundles match without a list of names.

The same is found as by names that a side file gives (`test_compare_corpus.py`), and the time that the oracle found.
"""

from collections import Counter
from functools import partial

import pytest

from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import compare_slices
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.uploading import store_build
from profcore.code.packages import canonical_source
from projects.models import Project
from tests.acceptance.comparing import regressions
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.builds import build_files, manifest, needs_builds, symbols
from tests.corpus import corpus_envelopes, expected

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20), needs_builds]
RELEASES = ("1.0.0", "1.1.0")
# What 1.1.0 renamed and did not change otherwise.
RENAMED = {
    "shopboard": ("formatPrice", "formatMoney"),
    "graphlab": ("drawHulls", "paintHulls"),
    "docsite": ("countWords", "wordCount"),
    "crunch": ("percentile", "quantile"),
}


def fold_app(app: str) -> Project:
    """Posts and folds an app's traces, and uploads its builds of both releases."""
    project = make_project(app)
    envelopes = [envelope for name, envelope in corpus_envelopes() if name == app]
    for start in range(0, len(envelopes), 50):
        post(f"KEY-{app}", *envelopes[start : start + 50])
    fold_all()
    for release in RELEASES:
        files = []
        for url, script in manifest().items():
            if script["app"] == app and script["release"] == release:
                path = url.removeprefix(f"https://{app}.corpus.test/")
                for name, stored in ((path, script["file"]), (path + ".map", script["map"])):
                    if stored is not None:
                        content = build_files()[stored]
                        files.append(BuildFile(name, len(content), partial(bytes, content)))
        store_build(project.pk, release=release, url_prefixes=[f"https://{app}.corpus.test"], files=files)
    assert label_all(project.pk) > 100
    return project


def name_of_source(source: str, name: str | None) -> str:
    return f"{canonical_source(source)}:{name or '(anonymous)'}"


def oracle_self_us(app: str) -> Counter[str]:
    """Returns self µs of both releases, by original source and name from an independent library."""
    names = {
        (
            symbol["uri"],
            symbol["line"],
            symbol["column"],
            symbol["name"],
        ): f"{symbol['sourcePath']}:{symbol['functionName']}"
        for symbol in symbols()
        if symbol["status"] == "mapped" and symbol["app"] == app and symbol["functionName"] not in ("", "(anonymous)")
    }
    sums: Counter[str] = Counter()
    for group in expected():
        if group["app"] == app:
            for func in group["functions"]:
                key = (func["uri"], func["line"], func["column"], func["name"])
                if key in names:
                    sums[names[key]] += func["self_us"]
    return sums


@pytest.mark.parametrize("app", [regression["app"] for regression in regressions()])
def test_labels_alone_find_what_was_injected_and_sum_up_to_what_the_oracle_found(app: str) -> None:
    project = fold_app(app)
    regression = next(regression for regression in regressions() if regression["app"] == app)
    for page in regression["pages"]:
        sides = [Slice(project_id=project.pk, releases=(release,), pages=(page,)) for release in RELEASES]
        for measure in ("self+hidden", "self"):
            answer = compare_slices(sides[0], sides[1], measure=measure)
            functions = answer.comparison.functions
            if page in regression["affectedPages"]:
                first = answer.funcs[functions[0].func_id]
                assert first.label in regression["selfTimeExpectedIn"], (page, measure, first.label)
                assert functions[0].is_increase
                assert functions[0].status == "changed"
            else:
                assert [
                    (answer.funcs[function.func_id].label, function.q) for function in functions if function.q < 0.05
                ] == []
    table = select_function_table(Slice(project_id=project.pk))
    ours: Counter[str] = Counter()
    for row in table.functions:
        if row.mapped is not None and row.mapped.original.name:
            ours[name_of_source(row.mapped.original.source, row.mapped.original.name)] += row.self_us
    theirs = oracle_self_us(app)
    # Names are held against the oracle's by tests/profcore/symbolicate: one in a thousand differs.
    others = {name: us for name, us in theirs.items() if ours[name] != us}
    assert sum(others.values()) <= 0.005 * sum(theirs.values()), others
    both = [row for row in table.functions if row.mapped and len(releases_of(project, row.id)) == 2]
    assert len(both) > 20


def releases_of(project: Project, row_id: int | str) -> set[str]:
    from aggregate.selectors.code.refs import find_ref

    return {release for release, _ in find_ref(project.pk, row_id).pairs or ()}


@pytest.mark.parametrize("app", RENAMED)
def test_what_a_release_only_renamed_is_one_row_of_its_comparison(app: str) -> None:
    project = fold_app(app)
    old, new = RENAMED[app]
    answer = compare_slices(*(Slice(project_id=project.pk, releases=(release,)) for release in RELEASES))
    renamed = {row.renamed_from.label: row.label for row in answer.funcs if row.renamed_from is not None}
    assert {was for was in renamed if not was.startswith("(anonymous)")} == {old}
    assert renamed[old] == new
    statuses = {
        answer.funcs[function.func_id].label: function.status
        for function in answer.comparison.functions
        if answer.funcs[function.func_id].label in (old, new)
    }
    assert statuses == {new: "changed"}
