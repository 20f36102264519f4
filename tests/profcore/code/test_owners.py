"""Owners of sources: the examples of GitHub's documentation, GitLab's sections, bounds."""

import pytest

from profcore.code.owners import MAX_LINES, OwnerRuleError, read_owners

RULES = """\
# A comment
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go guides*@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
guides/* guides*@example.com
apps/ @octocat
/guides/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
my\\ file.ts @space
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("src/a.ts", ("@global-owner1", "@global-owner2")),
        ("src/a.js", ("@js-owner",)),
        ("main.go", ("guides*@example.com",)),
        ("build/logs/x/y.ts", ("@octocat",)),  # **/logs comes later
        ("other/build/logs.ts", ("@global-owner1", "@global-owner2")),
        ("guides/getting-started.md", ("@doctocat",)),
        ("lib/guides/x.ts", ("@global-owner1", "@global-owner2")),
        ("guides/build-app/troubleshooting.md", ("@doctocat",)),
        ("a/apps/b.ts", ("@octocat",)),
        ("deeply/nested/logs/x.ts", ("@octocat",)),
        ("apps/web/x.ts", ("@octocat",)),
        ("apps/github/x.ts", ()),
        ("apps/githubs/x.ts", ("@octocat",)),
        ("scripts/x.ts", ("@doctocat", "@octocat")),
        ("src/my file.ts", ("@space",)),
    ],
)
def test_the_last_rule_that_matches_names_the_owners(path: str, owners: tuple[str, ...]) -> None:
    assert read_owners(RULES).find(path) == owners


@pytest.mark.parametrize(
    ("pattern", "path", "is_owned"),
    [
        ("guides/*", "guides/a.md", True),
        ("guides/*", "guides/a/b.md", False),
        ("guides/**", "guides/a/b.md", True),
        ("**/cart/**", "src/cart/a/b.ts", True),
        ("src/**/test.ts", "src/test.ts", True),
        ("src/**/test.ts", "src/a/b/test.ts", True),
        ("src/a?.ts", "src/ab.ts", True),
        ("src/a?.ts", "src/a/.ts", False),
        ("a.ts", "src/a_ts", False),
        ("a.ts", "xa.ts", False),
        ("(x)+[y].ts", "src/(x)+[y].ts", True),
        ("/a.ts", "src/a.ts", False),
        ("src", "src/a.ts", True),
        ("src", "src2/a.ts", False),
    ],
)
def test_patterns_are_those_of_codeowners(pattern: str, path: str, is_owned: bool) -> None:
    assert read_owners(f"{pattern} @me").find(path) == (("@me",) if is_owned else ())


def test_sections_of_gitlab_have_default_owners() -> None:
    owners = read_owners("[Docs] @writers\nguides/\n^[Code][2] @coders\nsrc/\nsrc/x.ts @x\n")
    assert [owners.find(path) for path in ("guides/a", "src/a.ts", "src/x.ts", "b")] == [
        ("@writers",),
        ("@coders",),
        ("@x",),
        (),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!a @me", "line 1: a pattern cannot begin with !"),
        ("a @me\n" + "x" * 301 + " @me", "line 2: a pattern has at most 300"),
        ("a " + "@o " * 21, "line 1: .* 20 owners"),
        ("a @me\n" * (MAX_LINES + 1), "there may be 1,000 rules"),
        ("#" * 100_001, "100,000 characters"),
    ],
)
def test_what_is_no_rule_is_named(text: str, message: str) -> None:
    with pytest.raises(OwnerRuleError, match=message):
        read_owners(text)


def test_hostile_paths_and_patterns_end() -> None:
    owners = read_owners("\n".join(["*a" * 100 + " @me"] * 400))
    assert owners.find("a" * 2_000 + "b") == ()  # with backtracking this would never end
