"""Page views of functions in bundles, and labels of these functions."""

from typing import Any

from aggregate.models import Func
from projects.models import Project
from tests.builders import make_label
from tests.envelopes import make_envelope


def view(name: str, columns: str, release: str, script: str, **fields: Any) -> dict[str, Any]:
    """Returns a view whose functions are in one script, each at its own column: `a` at 1, `b` at 2, …"""
    device = {"mobile": False, "cores": 8}
    envelope = make_envelope(name, columns, release=release, device=device, tags={"shop": "one"}, **fields)
    envelope["trace"]["resources"] = [f"https://shop.example/{script}"]
    for frame in envelope["trace"]["frames"]:
        frame["column"] = ord(frame["name"]) - ord("a") + 1
    return envelope


def func(project: Project, name: str, script: str) -> Func:
    return Func.objects.get(project=project, name=name, uri=f"https://shop.example/{script}")


def label(project: Project, release: str, script: str, names: dict[str, str | None], **fields: Any) -> None:
    """Labels funcs of a script: the original of each is in `src/cart.ts`, at the line of the func's column."""
    for name, original in names.items():
        made = func(project, name, script)
        make_label(made, release, "src/cart.ts", original, line=made.column or 0, **fields)


HASHED = {"1.0.0": "main-AAAAAAA1.js", "2.0.0": "main-BBBBBBB2.js"}
