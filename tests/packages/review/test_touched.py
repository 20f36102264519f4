"""Which lines a diff touches, and which functions these are in."""

import subprocess
from pathlib import Path

import pytest
from fieldflame.exits import UsageError
from fieldflame.lsp.places import Place
from fieldflame.review.diff import load_diff, read_diff
from fieldflame.review.functions import find_end, pick_touched

from tests.packages.written_code import LINES, make_cost

DIFF = """\
diff --git a/src/cart.ts b/src/cart.ts
index 1..2 100644
--- a/src/cart.ts
+++ b/src/cart.ts
@@ -3,4 +3,4 @@ head
 keep
-old
+new
+++ more
 keep
--- gone
@@ -40,2 +41,0 @@
-one
-two
diff --git a/old.ts b/old.ts
--- a/old.ts
+++ /dev/null
@@ -1 +0,0 @@
-all
diff --git a/new name.ts b/new name.ts
--- /dev/null
+++ b/new name.ts\t
@@ -0,0 +1,2 @@
+a
+b
\\ No newline at end of file
"""


def test_a_diff_has_spans_of_its_new_side() -> None:
    assert read_diff(DIFF) == {
        "src/cart.ts": {(2, 3), (3, 3), (4, 4), (5, 6), (40, 41)},
        "new name.ts": {(0, 0), (1, 1)},
    }
    assert read_diff("") == {}
    assert read_diff("diff --git a/x.png b/x.png\nBinary files differ\n") == {}


@pytest.mark.parametrize(
    "text",
    ["--- a/x\n+++ b/../../etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n+a\n", "+++ b/x\n@@ -1,999999999 +1 @@\n"],
)
def test_odd_diffs_name_no_file_and_end(text: str) -> None:
    assert not any(".." in path for path in read_diff(text))


def test_what_is_no_diff_is_refused() -> None:
    with pytest.raises(UsageError, match="no unified diff"):
        read_diff("hello\n")
    with pytest.raises(UsageError, match="cannot be read"):
        load_diff("/nowhere/x.diff", "main")
    with pytest.raises(UsageError, match="--against must be"):
        load_diff(None, "--output=/tmp/x")


def test_the_diff_of_a_checkout_is_that_of_its_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.chdir(tmp_path)
    git("init", "-b", "main")
    file = tmp_path / "grün.ts"
    file.write_text("one\ntwo\n")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "change")
    file.write_text("one\nnew\ntwo\n")
    git("commit", "-am", "second")
    assert read_diff(load_diff(None, "main")) == {"grün.ts": {(1, 1)}}
    with pytest.raises(UsageError, match=r"git diff nowhere\.\.\.HEAD failed"):
        load_diff(None, "nowhere")


@pytest.mark.parametrize(("start", "end"), [(2, 5), (3, 3), (7, 15), (9, 11), (12, 14), (17, 17), (18, 21), (19, 19)])
def test_a_function_ends_by_its_indentation(start: int, end: int) -> None:
    assert find_end(LINES, start) == end


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["function f(", "  a,", ") {", "  b();", "}", "g();"], 4),
        (["const f = (", "  a,", ") =>", "  b();", "g();"], 3),
        (["const f = () => {", "", "  b();", "", "};", ""], 4),
        (["def = 1"], 0),
        (["\tf() {", "\t\ta();", "\t}", "\tg() {}"], 2),
    ],
)
def test_heads_of_several_lines_do_not_end_a_function(lines: list[str], end: int) -> None:
    assert find_end(lines, 0) == end


def test_a_touched_span_is_in_the_innermost_function() -> None:
    outer, inner, add = (
        Place(cost=make_cost(name, line + 1, name), line=line, is_stale=False)
        for name, line in (("render", 2), ("inner", 3), ("add", 9))
    )
    places = [outer, inner, add]

    def pick(*spans: tuple[int, int]) -> list[str | None]:
        return [place.cost.name for place in pick_touched(LINES, places, spans)]

    assert pick((3, 3)) == ["inner"]
    assert pick((4, 4)) == ["render"]
    assert pick((10, 10), (4, 4)) == ["render", "add"]
    assert pick((6, 6), (0, 0), (16, 16)) == []
    assert pick((5, 6)) == []  # lines that were between two functions
    assert pick((4, 5)) == ["render"]  # the last lines before the one that closes it
