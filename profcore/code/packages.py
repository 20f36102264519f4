"""The package of a script or an original source: an npm package by its path, or one of the project's own by rules.

Paths and URIs are claims of the page and of source maps. A package is a hint for people, never a permission.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from profcore.caching import cached

MAX_MATCHED_CHARS: Final = 2_000  # characters of a URI or path, so that no pattern reads a whole data: script
# Longer ones are matched each time. 20,000 texts of 2,000 characters held up to 490 MB, in two memories; these 102.
MAX_CACHED_CHARS: Final = 400


class PackagePattern(NamedTuple):
    """Where a URI or a source's path names an npm package: group 1 is its name."""

    pattern: str
    reason: str


_PACKAGE: Final = r"((?:@[\w.~-]+(?:/|%2[fF]))?[\w~-][\w.~-]*)"
_SCOPED: Final = r"(@[\w.~-]+/[\w~-][\w.~-]*)"
# The first match names the package. `node_modules` may occur several times (pnpm, nested or bundled dependencies);
# the last one counts. Yarn's zip files and virtual folders end with one too.
PACKAGE_PATTERNS: Final = (
    PackagePattern(r"^.*/node_modules/\.vite/deps/([@\w.~-]+?)\.m?js$", "Vite's pre-bundled dependency"),
    PackagePattern(rf"^(?:.*/)?node_modules/(?!\.){_PACKAGE}(?:/|$)", "a module path: npm, pnpm, Yarn, Bun"),
    PackagePattern(rf"^(?:.*/)?bower_components/{_PACKAGE}/", "Bower"),
    PackagePattern(rf"^(?:.*/)?npm:/?{_PACKAGE}(?:@|/|$)", "an `npm:` specifier: Deno, JSPM"),
    PackagePattern(rf"^(?:.*/)?npm/registry\.npmjs\.org/{_PACKAGE}/\d", "Deno's cache of npm"),
    PackagePattern(rf"^(?:.*/)?jsr:/?{_SCOPED}(?:@|/|$)", "a `jsr:` specifier"),
    PackagePattern(rf"^https?://jsr\.io/{_SCOPED}/\d", "JSR"),
    PackagePattern(rf"^https?://cdn\.jsdelivr\.net/npm/{_PACKAGE}(?:@|/|$)", "jsDelivr"),
    PackagePattern(rf"^https?://(?:www\.)?unpkg\.com/{_PACKAGE}(?:@|/|$)", "unpkg"),
    PackagePattern(rf"^https?://esm\.sh/(?:v\d+/|stable/|\*)?(?!gh/|jsr/){_PACKAGE}(?:@|/|$)", "esm.sh"),
    PackagePattern(rf"^https?://esm\.run/{_PACKAGE}(?:@|/|$)", "esm.run"),
    PackagePattern(rf"^https?://cdn\.skypack\.dev/(?:-/)?{_PACKAGE}(?:@|/|$)", "Skypack"),
    PackagePattern(rf"^https?://cdnjs\.cloudflare\.com/ajax/libs/{_PACKAGE}/", "cdnjs"),
    PackagePattern(rf"^https?://ajax\.googleapis\.com/ajax/libs/{_PACKAGE}/", "Google's hosted libraries"),
    PackagePattern(rf"^https?://code\.jquery\.com/{_PACKAGE.replace('.~', '~')}-\d", "jQuery's own CDN"),
)
LIBRARY: Final = "|".join(f"(?:{entry.pattern})" for entry in PACKAGE_PATTERNS)
_COMPILED: Final = tuple(re.compile(entry.pattern) for entry in PACKAGE_PATTERNS)

# Bundlers' own schemes, with their name for the build: `webpack://shop/./src/x.ts`, `webpack:///src/x.ts`.
_BUNDLER: Final = re.compile(r"^(?:webpack-internal|webpack|turbopack|parcel|rollup|vite|ng|rspack|file|deno):/*")
# webpack's build name (`app`, `@acme/app`, `_N_E`) and Turbopack's `[project]` come before the real path.
_BUILD_NAME: Final = re.compile(r"^(?:@[^/]+/)?[^/]*/(?=\.{1,2}/|\(|\[)")
_LAYER: Final = re.compile(r"^(?:\([\w-]+\)|\[[\w-]+\])/")
_ORIGIN: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/]*/")
_VERSION_FOLDER: Final = re.compile(r"^(?:\.pnpm|\.bun)/[^/]+/node_modules/")


@cached(entries=20_000, chars=MAX_CACHED_CHARS)
def package_of(uri: str | None) -> str | None:
    """Returns the npm package in a URI or a source's path (`@scope/name`), or None."""
    if uri is None:
        return None
    text = uri[:MAX_MATCHED_CHARS].replace("\\", "/")
    for entry, pattern in zip(PACKAGE_PATTERNS, _COMPILED, strict=True):
        if match := pattern.match(text):
            name = re.sub("%2f", "/", match.group(1), flags=re.IGNORECASE)
            is_flat = ".vite/deps" in entry.pattern.replace("\\", "")
            return name.replace("_", "/", 1) if is_flat and name.startswith("@") else name
    return None


@cached(entries=20_000, chars=MAX_CACHED_CHARS)
def canonical_source(path: str) -> str:
    """Returns an original source's path without the parts that depend on the build or a version.

    These are the bundler's scheme and name of the build, an origin, `./` and leading `../`, the loader's query,
    backslashes, and everything before the last `node_modules/`, where pnpm and Yarn put versions and hashes. A path
    that would become empty stays as it is.
    """
    text = path.replace("\\", "/").replace("\0", "")
    is_bundlers = _BUNDLER.match(text) is not None
    text = _BUNDLER.sub("", text)
    if is_bundlers:
        text = _LAYER.sub("", _BUILD_NAME.sub("", text))
    text = _ORIGIN.sub("", text).split("?", 1)[0]
    head, separator, rest = text.rpartition("node_modules/")
    if separator and (not head or head.endswith("/")):
        return separator + _VERSION_FOLDER.sub("", rest)
    parts: list[str] = []
    for part in text.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts) or path


@dataclass(frozen=True, slots=True)
class ProjectPackageRule:
    """Which folders are packages of the project itself: `packages/*` names each `packages/NAME/…` after its folder.

    `path` is folders from any folder on, of which one may be `*`. `name` is the package's name, in which `*` stands for
    that folder.
    """

    path: str
    name: str = "*"

    def __post_init__(self) -> None:
        """Raises `ValueError` for a rule that matches nothing, or whose name has a star without one in its path."""
        folders = self.path.split("/")
        if not self.path or any(not folder or folder in (".", "..") for folder in folders) or "\0" in self.path:
            raise ValueError(f"path must be folders such as packages/*; not {self.path[:80]!r}")
        if folders.count("*") > 1 or any("*" in folder and folder != "*" for folder in folders):
            raise ValueError(f"path may have one * that stands for a whole folder; not {self.path[:80]!r}")
        if not self.name or "\0" in self.name or ("*" in self.name and "*" not in folders):
            raise ValueError(f"name must be a package's name, with * for the path's *; not {self.name[:80]!r}")

    def package(self, folders: Sequence[str]) -> str | None:
        """Returns the package of a file in some folders; None if the rule does not match."""
        wanted = self.path.split("/")
        for start in range(len(folders) - len(wanted) + 1):
            candidate = folders[start : start + len(wanted)]
            if all(word in ("*", folder) for word, folder in zip(wanted, candidate, strict=True)):
                star = candidate[wanted.index("*")] if "*" in wanted else ""
                return self.name.replace("*", star)
        return None


# Usual layouts of monorepos (npm, pnpm and Yarn workspaces, Nx, Turborepo, Lerna, Rush).
DEFAULT_PACKAGE_RULES: Final = tuple(map(ProjectPackageRule, ("packages/*", "apps/*", "libs/*")))


def project_package_of(source: str, rules: Sequence[ProjectPackageRule] = ()) -> str | None:
    """Returns the project's own package of a canonical source path; the project's `rules` come first."""
    folders = source[:MAX_MATCHED_CHARS].split("/")[:-1]
    for rule in (*rules, *DEFAULT_PACKAGE_RULES):
        if (name := rule.package(folders)) is not None:
            return name
    return None
