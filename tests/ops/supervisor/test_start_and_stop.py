"""`up` with real servers: it starts, says where to look, lets commands in, and stops in order."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.running import find_free_port
from ops.supervisor.start import choose_web_processes
from tests.ops.supervisor.running import Running, run_manage
from tests.stack_processes import find_parts

pytestmark = [pytest.mark.stack, pytest.mark.slow(60)]


@pytest.mark.always
def test_it_says_where_to_look_and_stops_in_order_leaving_nothing(running: Running) -> None:
    text = running.read_output()
    assert f"Dashboard   {running.url}/" in text
    assert re.search(r"Login +admin +(password +\S{12,}|with the password in) .*/admin_password", text)
    assert re.search(r"Fold +(compiled kernel\n|pure Python, which takes longer: the compiled kernel)", text)
    assert running.is_ready()
    assert running.stop() == 0
    assert running.read_output().rstrip().endswith("Stopped.")
    assert running.find_all() == []
    assert not running.folder.environment.exists()
    log = (running.folder.logs / "postgres.log").read_text(encoding="utf-8")
    assert "database system is shut down" in log


def test_a_second_start_in_the_same_folder_is_refused(running: Running) -> None:
    second = run_manage("up", "--port", str(find_free_port()), data=running.folder.path)
    assert second.returncode == 1
    expected = f"Fieldflame: Fieldflame already runs in {running.folder.path} (process {running.pid}).\n"
    assert second.stderr == expected
    assert running.is_ready()


def test_a_command_uses_the_running_servers(running: Running) -> None:
    shown = run_manage("shell", "-c", "print(__import__('os').environ['DATABASE_URL'])", data=running.folder.path)
    assert shown.returncode == 0, shown.stderr
    assert str(running.folder.path) in shown.stdout
    assert running.is_ready()


def test_a_command_starts_servers_of_its_own_where_none_run(stopped: Path) -> None:
    created = run_manage("create_project", "other", "--key", "other", "--origin", "*", data=stopped)
    assert (created.returncode, created.stdout) == (0, '{"slug": "other", "key": "other"}\n'), created.stderr
    assert not DataFolder(stopped).environment.exists()
    again = run_manage("create_project", "other", "--key", "other", "--origin", "*", data=stopped)
    assert again.returncode != 0  # it is there: the first command's servers kept it


@pytest.mark.always
def test_each_part_has_the_processes_that_it_needs_and_no_more(running: Running) -> None:
    parts = Counter(find_parts(running.pid).values())
    assert parts["postgres"] >= 5  # and one for each connection
    del parts["postgres"]
    # The web server and the worker have a process above those that work. Worker and beat have one for their metrics,
    # because these tests give them a port (`tests.ops.supervisor.running`).
    assert parts == {"supervisor": 1, "web": 2, "worker": 3, "beat": 2, "valkey": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="asks for the cores that a process may use")
@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 1), (3, 1), (4, 2), (16, 2)])
def test_a_small_machine_has_one_web_process(monkeypatch: pytest.MonkeyPatch, cores: int, processes: int) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    assert choose_web_processes() == processes
