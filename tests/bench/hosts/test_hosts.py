"""A whole Fieldflame on hosts made of namespaces, and with clocks minutes apart: the sums of the corpus."""

import subprocess

import pytest

from bench.hosts.network import NoHosts, require_hosts
from config.up.parts import BASE_DIR, make_manage_command
from config.up.running import own_environment

pytestmark = [pytest.mark.stack, pytest.mark.slow(60)]


def test_hosts_with_other_clocks_give_the_sums_of_one_machine() -> None:
    try:
        require_hosts()
    except NoHosts as error:
        pytest.skip(f"no hosts can be made here: {error}")
    words = ("bench", "hosts", "--cut-seconds", "0", "--no-rolling")
    done = subprocess.run(
        make_manage_command(*words), env=own_environment({}), cwd=BASE_DIR, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "560 traces of the corpus" in done.stdout
    assert "All sums are as they must be." in done.stdout
