"""`fieldflame review`, against the real read API."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx
import pytest
from fieldflame.main import main

from projects.tokens import create_token
from tests.packages.check.asking import answer
from tests.packages.measured_app import EDITED, SOURCE, make_app

Run = Callable[..., int]
# `render` and what is inside it, in a file that got a line before them.
TOUCHED: Final = """\
--- a/web/src/table.ts
+++ b/web/src/table.ts
@@ -0,0 +1 @@
+// A comment.
@@ -3 +4 @@
-    row.old();
+    row.measure();
@@ -6 +6 @@
-  })
+  });
--- a/docs/readme.md
+++ b/docs/readme.md
@@ -1 +1 @@
-a
+b
"""


@pytest.fixture
def run(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in a checkout with a token of `app`."""
    project = make_app()
    file = tmp_path / "web" / "src" / "table.ts"
    file.parent.mkdir(parents=True)
    file.write_text(EDITED)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "change.diff").write_text(TOUCHED)
    _, clear = create_token(project=project, scopes=["read"])
    known = {"FIELDFLAME_URL": "http://testserver", "FIELDFLAME_TOKEN": clear}

    def call(*arguments: str) -> int:
        transport = httpx.MockTransport(answer)
        return main(
            ("review", "--project", "app", "--diff", "change.diff", *arguments), environment=known, transport=transport
        )

    return call


def test_before_a_merge_it_says_what_touched_functions_cost(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--markdown", "comment.md") == 0
    out = capsys.readouterr().out
    assert "Fieldflame, app: this change touches 1 function that cost 10 ms per view in 2.0.0." in out
    assert "  (anonymous) (web/src/table.ts:3): 10 ms per view (10 to 10 ms), in 100 % of views\n    on /cart\n" in out
    assert "4 page views a day are recorded" not in out  # 60 of yesterday, by seven days
    assert "9 page views a day are recorded: in them, these functions take 0.0 hours of processor time a day." in out
    assert "This is what the functions cost now, not what the change does to them." in out
    comment = Path("comment.md").read_text()
    assert comment.startswith("<!-- fieldflame review -->\n### Fieldflame: ")
    assert "| `(anonymous)` | `web/src/table.ts:3` | 10 ms per view" in comment
    assert "| `/cart` |" in comment


def test_after_a_deployment_it_says_what_the_release_did(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("change.diff").write_text("--- a/web/src/table.ts\n+++ b/web/src/table.ts\n@@ -1 +2 @@\n-old\n+new\n")
    assert run("--release", "2.0.0", "--markdown", "comment.md") == 0
    out = capsys.readouterr().out
    assert "Fieldflame, app: what 2.0.0 did to 1 touched function." in out
    assert "  2.0.0 made /cart slower: +30" in out
    assert "  render (web/src/table.ts:2): lost: +30 ms per view (" in out
    assert "compare/?base_release=1.0.0&head_release=2.0.0" in out
    assert "| lost\\: \\+30 ms per view" in Path("comment.md").read_text()
    assert run("--release", "1.0.0", "--base", "2.0.0") == 0
    assert "render (web/src/table.ts:2): saved: −30 ms per view (" in capsys.readouterr().out


def test_a_change_elsewhere_touches_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("change.diff").write_text("--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\n-a\n+b\n")
    Path("x.ts").write_text("b\n")
    assert run() == 0
    assert "this change touches no function that takes time (1 file looked at)." in capsys.readouterr().out


def test_the_source_that_was_measured_touches_all_functions(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("web/src/table.ts").write_text(SOURCE)
    Path("change.diff").write_text(
        "--- a/web/src/table.ts\n+++ b/web/src/table.ts\n@@ -0,0 +1,7 @@\n"
        + "".join(f"+{line}\n" for line in SOURCE.splitlines())
    )
    assert run() == 0
    out = capsys.readouterr().out
    assert "this change touches 3 functions that cost 70 ms per view in 2.0.0." in out
    assert out.index("  render (") < out.index("  gone (")


def test_a_diff_that_is_none_is_named(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("change.diff").write_text("no diff")
    assert run() == 3
    assert "--diff is no unified diff" in capsys.readouterr().err
