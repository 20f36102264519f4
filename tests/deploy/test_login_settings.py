"""Settings of logins by a provider: what is wrong stops the start, and says how it should be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.env import read_group_roles, read_issuer, read_viewers
from projects.accounts.group_roles import GroupRole

ROOT = Path(__file__).resolve().parent.parent.parent
PROVIDER = {
    "FIELDFLAME_OIDC_ISSUER": "https://id.example",
    "FIELDFLAME_OIDC_CLIENT_ID": "fieldflame",
    "FIELDFLAME_OIDC_CLIENT_SECRET": "secret",
}


def test_groups_may_be_names_paths_or_distinguished_names() -> None:
    text = "team=shop:member; /acme/leads = shop:admin ;cn=ops,dc=acme:x=superuser;; all=*:member"
    assert read_group_roles("R", {"R": text}) == [
        GroupRole("team", "shop", "member"),
        GroupRole("/acme/leads", "shop", "admin"),
        GroupRole("cn=ops,dc=acme:x", "", "superuser"),
        GroupRole("all", "*", "member"),
    ]
    assert read_group_roles("R", {}) == []


@pytest.mark.parametrize(
    "text", ["team", "team=shop", "team=shop:owner", "=shop:admin", "ops=shop:superuser", "a=:admin"]
)
def test_an_entry_that_gives_no_role_is_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="team=shop:member"):
        read_group_roles("R", {"R": text})


@pytest.mark.parametrize("issuer", ["http://id.example", "id.example", "https://", "ftp://127.0.0.1"])
def test_a_provider_must_be_reached_safely(issuer: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="https://"):
        read_issuer("I", {"I": issuer})


def test_the_provider_of_this_machine_may_be_plain() -> None:
    for issuer in ("http://127.0.0.1:9000", "https://id.example/realms/acme", ""):
        assert read_issuer("I", {"I": issuer}) == issuer


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"FIELDFLAME_PASSWORD_LOGIN": "0"}, "no one could log in"),
        ({"FIELDFLAME_OIDC_ISSUER": "https://id.example"}, "FIELDFLAME_OIDC_CLIENT_ID"),
        (PROVIDER | {"FIELDFLAME_PASSWORD_LOGIN": "0"}, "['dashboard.web.logins.provider.ProviderBackend']"),
    ],
    ids=["no way in", "half a provider", "only the provider"],
)
def test_somebody_can_always_log_in(settings: dict[str, str], message: str) -> None:
    code = "from django.conf import settings; print(settings.AUTHENTICATION_BACKENDS)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **settings}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["manage.py", "check"], ["manage.py", "migrate"], ["deploy/start", "web"], ["deploy/start", "worker"]],
    ids=" ".join,
)
def test_a_wrong_setting_ends_parts_and_commands_with_one_sentence(arguments: list[str]) -> None:
    environment = {**os.environ, "FIELDFLAME_OIDC_ISSUER": "https://id.example"}
    command = arguments if arguments[0] == "deploy/start" else [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == os.EX_CONFIG
    assert done.stderr == (
        "Fieldflame: FIELDFLAME_OIDC_ISSUER needs FIELDFLAME_OIDC_CLIENT_ID and FIELDFLAME_OIDC_CLIENT_SECRET, "
        "or its _FILE.\n"
    )


@pytest.mark.slow(15)
@pytest.mark.parametrize("arguments", [["migrate"], ["create_project", "shop"]], ids=" ".join)
def test_a_command_without_its_database_says_so_in_one_sentence(arguments: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": f"postgresql:///none?host={tmp_path}"}
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "PostgreSQL does not answer" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_other_viewers_are_named_with_their_origins() -> None:
    default = {"speedscope": "https://www.speedscope.app", "perfetto": "https://ui.perfetto.dev"}
    assert read_viewers("V", default, {}) == default
    assert read_viewers("V", default, {"V": "perfetto=https://p.example/"}) == {"perfetto": "https://p.example"}
    assert read_viewers("V", default, {"V": ""}) == {}
    for text in ("pprof=https://p.example", "perfetto", "perfetto=javascript:x", "perfetto=https://"):
        with pytest.raises(ImproperlyConfigured, match="V must be speedscope and perfetto with their origins"):
            read_viewers("V", default, {"V": text})
