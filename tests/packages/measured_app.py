"""A project whose functions have places in an original source: `render`, a function inside it, and `gone`."""

from typing import Final

from projects.creation import create_project
from projects.models import Project
from tests.aggregate.bundled_views import HASHED, func, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label

SOURCE: Final = """\
export function render(rows) {
  return rows.map((row) => {
    row.measure();
    return row.cells;
  });
}
export function gone() {}
"""
EDITED: Final = "// A comment.\n" + SOURCE.replace("export function gone() {}\n", "")


def make_app() -> Project:
    """Makes `app`: `render` costs 20 ms in 1.0.0 and 50 in 2.0.0, the function inside it 10, and `gone` 10."""
    project, _ = create_project(slug="app", key="KEY-app", origins=["*"])
    for release, script in HASHED.items():
        slow = 5 if release == "2.0.0" else 2
        columns = ["a"] * slow + ["a b"] + ["c"] + ["-"]
        post("KEY-app", *(view(f"{release}-{n}", "\n".join(columns), release, script) for n in range(30)))
        fold_all()
        for name, original, line in (("a", "render", 1), ("b", None, 2), ("c", "gone", 7)):
            made = func(project, name, script)
            make_label(made, release, "src/table.ts", original, line=line, column=17, content=SOURCE, is_shared=True)
    return project
