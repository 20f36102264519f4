"""Packages: npm's by the layouts of every installer, bundler and CDN; a project's own by rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.code.packages import ProjectPackageRule, canonical_source, package_of, project_package_of
from tests.urls import LOCAL_FILE


@pytest.mark.parametrize(
    ("uri", "package"),
    [
        ("https://x.example/node_modules/@babel/runtime/helpers/esm/x.js", "@babel/runtime"),
        ("https://x.example/node_modules/.vite/deps/react-dom_client.js", "react-dom_client"),
        ("https://x.example/node_modules/.vite/deps/@emotion_react.js", "@emotion/react"),
        ("https://unpkg.com/vue@3.4.0/dist/vue.js", "vue"),
        ("https://unpkg.com/@scope/thing", "@scope/thing"),
        ("https://esm.sh/v135/preact@10/hooks", "preact"),
        ("https://esm.sh/stable/@tanstack/query-core@5.0.0/es2022/query-core.mjs", "@tanstack/query-core"),
        ("https://esm.sh/gh/owner/repo@v1/mod.js", None),
        ("https://esm.run/d3@7", "d3"),
        ("https://cdn.jsdelivr.net/npm/d3@7/dist/d3.min.js", "d3"),
        ("https://cdn.jsdelivr.net/npm/@vue/reactivity@3.4/+esm", "@vue/reactivity"),
        ("https://cdn.jsdelivr.net/gh/jquery/jquery@3/dist/jquery.js", None),
        ("https://ga.jspm.io/npm:react-dom@18.2.0/index.js", "react-dom"),
        ("https://cdnjs.cloudflare.com/ajax/libs/lodash.js/4.17.21/lodash.min.js", "lodash.js"),
        ("https://code.jquery.com/jquery-3.7.1.min.js", "jquery"),
        ("https://x.example/my_node_modules/react/x.js", None),
        ("https://x.example/app.js", None),
        (None, None),
    ],
)
def test_the_package_is_named_where_the_uri_names_it(uri: str | None, package: str | None) -> None:
    assert package_of(uri) == package


@pytest.mark.parametrize(
    ("source", "package"),
    [
        # npm: nested dependencies, and code that a package brought along
        ("node_modules/lodash-es/map.js", "lodash-es"),
        ("../../../node_modules/@scope/name/lib/x.js", "@scope/name"),
        ("node_modules/a/node_modules/@b/c/index.js", "@b/c"),
        (r"..\..\node_modules\lodash\index.js", "lodash"),
        # pnpm, Bun
        ("node_modules/.pnpm/react-dom@18.2.0_react@18.2.0/node_modules/react-dom/cjs/x.js", "react-dom"),
        ("node_modules/.pnpm/@mui+material@5.0.0/node_modules/@mui/material/Button/Button.js", "@mui/material"),
        ("node_modules/.bun/zod@3.22.0/node_modules/zod/lib/index.mjs", "zod"),
        ("node_modules/.pnpm/lock.yaml", None),
        # Yarn Plug'n'Play: zip files, virtual folders, what had to be unplugged
        (".yarn/cache/lodash-npm-4.17.21-6382451519-eb835a2e51.zip/node_modules/lodash/map.js", "lodash"),
        (
            ".yarn/__virtual__/react-dom-virtual-0a1b2c3d4e/0/cache/react-dom-npm-18.2.0-dd675bca1c-7d323310be.zip"
            "/node_modules/react-dom/index.js",
            "react-dom",
        ),
        (".yarn/$$virtual/@emotion-react-virtual-1a/0/cache/x.zip/node_modules/@emotion/react/x.js", "@emotion/react"),
        (".yarn/unplugged/core-js-npm-3.30.0-9c4e6c0b4b/node_modules/core-js/es/array.js", "core-js"),
        # webpack, Next.js, Turbopack, Vite, Rollup
        ("webpack://app/./node_modules/immer/src/core/proxy.ts", "immer"),
        ("webpack:///./node_modules/@reduxjs/toolkit/src/x.ts", "@reduxjs/toolkit"),
        ("webpack://_N_E/./node_modules/next/dist/client/router.js?a1b2", "next"),
        ("webpack-internal:///(app-pages-browser)/./node_modules/swr/core.js", "swr"),
        ("turbopack:///[project]/node_modules/.pnpm/swr@2/node_modules/swr/core.js", "swr"),
        ("../../node_modules/d3-force/src/simulation.js", "d3-force"),
        ("\0/build/ci/node_modules/papaparse/papaparse.js?commonjs-module", "papaparse"),
        ("bower_components/jquery/src/core.js", "jquery"),
        # Deno and JSR
        ("npm:preact@10.5.0/hooks", "preact"),
        ("npm:/@preact/signals@1.2.1", "@preact/signals"),
        ("/deno-dir/npm/registry.npmjs.org/@std/fmt/1.0.0/colors.js", "@std/fmt"),
        ("jsr:@std/path@1/posix", "@std/path"),
        ("https://jsr.io/@std/path/1.0.8/posix/join.ts", "@std/path"),
        ("https://deno.land/x/oak@v12.0.0/mod.ts", None),
        # of the project
        ("src/cart/pricing.ts", None),
        ("webpack://app/./src/index.tsx", None),
        ("webpack/runtime/chunk loaded", None),
    ],
)
def test_the_package_of_a_source_is_known_in_every_layout(source: str, package: str | None) -> None:
    assert package_of(source) == package


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("../../src/cart/pricing.ts", "src/cart/pricing.ts"),
        ("./src/../src/x.ts", "src/x.ts"),
        ("webpack://shop/./src/x.tsx", "src/x.tsx"),
        ("webpack://@acme/shop/./src/x.tsx", "src/x.tsx"),
        ("webpack:///src/x.vue?4f2a", "src/x.vue"),
        ("webpack:///./src/x.vue", "src/x.vue"),
        ("webpack://_N_E/(app-client)/./app/page.tsx", "app/page.tsx"),
        ("webpack://shop/../packages/ui/src/x.ts", "packages/ui/src/x.ts"),
        ("turbopack:///[project]/app/page.tsx", "app/page.tsx"),
        ("https://shop.example/assets/src/x.ts", "assets/src/x.ts"),
        (f"{LOCAL_FILE}/build/ci/app/src/x.ts", "build/ci/app/src/x.ts"),
        (r"..\src\x.ts", "src/x.ts"),
        (
            "../node_modules/.pnpm/react@18.2.0/node_modules/react/index.js",
            "node_modules/react/index.js",
        ),
        ("/build/ci/my_node_modules/x.js", "build/ci/my_node_modules/x.js"),
        (".yarn/cache/lodash-npm-4-a.zip/node_modules/lodash/map.js", "node_modules/lodash/map.js"),
        ("..", ".."),
        ("", ""),
    ],
)
def test_what_depends_on_the_build_goes_from_a_sources_path(path: str, canonical: str) -> None:
    assert canonical_source(path) == canonical


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("packages/ui/src/Button.tsx", "ui"),
        ("apps/shop/src/main.ts", "shop"),
        ("libs/money/format.ts", "money"),
        ("build/ci/repo/packages/ui/src/x.ts", "ui"),
        ("packages/x.ts", None),
        ("src/packages.ts", None),
        ("src/x.ts", None),
    ],
)
def test_a_monorepos_own_packages_are_its_folders(source: str, package: str | None) -> None:
    assert project_package_of(source) == package


def test_a_projects_own_rules_come_before_the_usual_ones() -> None:
    rules = [ProjectPackageRule("packages/*", "@acme/*"), ProjectPackageRule("src/checkout", "checkout")]
    assert project_package_of("packages/ui/x.ts", rules) == "@acme/ui"
    assert project_package_of("src/checkout/deep/x.ts", rules) == "checkout"
    assert project_package_of("apps/shop/x.ts", rules) == "shop"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("", "x"),
        ("/packages/*", "*"),
        ("packages/*/*", "*"),
        ("packages/x*", "*"),
        ("../x", "x"),
        ("src", "*"),
        ("src", ""),
    ],
)
def test_a_rule_that_says_nothing_is_refused(path: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"must be|may have"):
        ProjectPackageRule(path, name)


@given(st.text(max_size=200))
def test_hostile_paths_raise_nothing(text: str) -> None:
    for path in (text, "webpack://" + text, "node_modules/" + text):
        assert canonical_source(canonical_source(path)) == canonical_source(path) or "node_modules" in path
        package_of(path)
        project_package_of(path)
