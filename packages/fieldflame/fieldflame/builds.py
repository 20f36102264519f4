"""What a build knows about itself, from the variables of GitHub Actions, GitLab CI and Jenkins."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Build:
    """A build's commit, where it is described, and where commits are compared; None for what is not known."""

    commit: str | None = None
    link: str | None = None
    range_link: str | None = None


def read_build(environment: Mapping[str, str]) -> Build:
    """Returns what the variables of the known systems say; an empty build elsewhere."""
    if environment.get("GITHUB_ACTIONS"):
        home = "/".join(environment.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
        is_known = home.startswith("http")
        run = environment.get("GITHUB_RUN_ID")
        return Build(
            commit=environment.get("GITHUB_SHA") or None,
            link=f"{home}/actions/runs/{run}" if is_known and run else None,
            range_link=f"{home}/compare/{{base}}...{{head}}" if is_known else None,
        )
    if environment.get("GITLAB_CI"):
        home = environment.get("CI_PROJECT_URL", "")
        return Build(
            commit=environment.get("CI_COMMIT_SHA") or None,
            link=environment.get("CI_PIPELINE_URL") or None,
            range_link=f"{home}/-/compare/{{base}}...{{head}}" if home.startswith("http") else None,
        )
    if environment.get("JENKINS_URL"):
        return Build(commit=environment.get("GIT_COMMIT") or None, link=environment.get("BUILD_URL") or None)
    return Build()
