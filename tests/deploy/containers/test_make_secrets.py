"""`deploy/make-secrets`: each secret once, and those of an older installation are taken over."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY

NAMES = ("database_url", "metrics_token", "postgres_password", "secret_key")


@pytest.fixture
def deploy(tmp_path: Path) -> Path:
    shutil.copy(DEPLOY / "make-secrets", tmp_path / "make-secrets")
    return tmp_path


def make_secrets(deploy: Path) -> tuple[dict[str, str], str]:
    """Returns the secrets by name, and what was said."""
    done = subprocess.run([deploy / "make-secrets"], capture_output=True, text=True, check=True)
    return {path.name: path.read_text().rstrip("\n") for path in (deploy / "secrets").iterdir()}, done.stdout


def test_secrets_are_random_and_kept(deploy: Path) -> None:
    made, _ = make_secrets(deploy)
    assert set(made) == set(NAMES)
    assert len(made["secret_key"]) == len(made["postgres_password"]) == 50
    assert made["secret_key"] != made["postgres_password"]
    assert made["database_url"] == f"postgresql://fieldflame:{made['postgres_password']}@postgres:5432/fieldflame"
    again, said = make_secrets(deploy)
    assert again == made
    assert "deploy/secrets/secret_key is kept." in said


def test_containers_may_read_them_and_other_users_of_the_host_may_not(deploy: Path) -> None:
    make_secrets(deploy)
    assert stat.S_IMODE((deploy / "secrets").stat().st_mode) == 0o700
    assert {stat.S_IMODE((deploy / "secrets" / name).stat().st_mode) for name in NAMES} == {0o444}


def test_secrets_of_an_older_installation_are_taken_over(deploy: Path) -> None:
    (deploy / ".env").write_text(
        "FIELDFLAME_SECRET_KEY=old key\nPOSTGRES_PASSWORD=oldpassword\nFIELDFLAME_METRICS_TOKEN=old token\n"
    )
    made, said = make_secrets(deploy)
    assert (made["secret_key"], made["postgres_password"]) == ("old key", "oldpassword")
    assert made["metrics_token"] == "old token"
    assert ":oldpassword@" in made["database_url"]
    assert "delete the lines" in said
