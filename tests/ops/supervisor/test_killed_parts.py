"""`up` with real servers survives the death of any part, of itself, and of everything at once."""

import signal
import time
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ops.supervisor.proc import Process, is_running, send_signal
from ops.telemetry.health import ANSWER_KEPT_S
from tests.ops.supervisor.running import WAIT_LIMIT_S, Running

pytestmark = [pytest.mark.stack, pytest.mark.kills, pytest.mark.slow(70)]
PARTS = ("granian", "ops.celery_program worker", "ops.celery_program beat", "valkey-server", "/bin/postgres")


def test_every_part_is_started_again_after_it_was_killed(running: Running) -> None:
    first = running.post_trace("shop")
    running.wait_until(lambda: running.read_states()[first] == 1, "the first trace is folded")
    before = read_counts(running)
    assert before["fieldflame_fold_traces_total", "folded"] >= 1
    for word in PARTS:
        process = running.find_child(word)
        send_signal(process, signal.SIGKILL)
        wait_until_back(running, process, word)
        assert running.find_child(word) != process
    view_id = running.post_trace("shop")
    running.wait_until(lambda: running.read_states()[view_id] == 1, "the trace is folded")
    after = read_counts(running)
    assert {name for name, count in before.items() if after.get(name, 0) < count} == set()
    for more in (("fieldflame_fold_traces_total", "folded"), ("fieldflame_processes_started_total", "worker")):
        assert after[more] > before[more]
    for port in running.part_ports.values():  # a killed part gave its port back
        assert read_counts(running, f"http://127.0.0.1:{port}").keys() == after.keys()


def read_counts(running: Running, url: str = "") -> dict[tuple[str, str], float]:
    """Returns the counters that all parts have counted together, by name and first label."""
    with urllib.request.urlopen(f"{url or running.url}/metrics", timeout=WAIT_LIMIT_S) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        counts: dict[tuple[str, str], float] = {}
        for family in families:
            for sample in family.samples if family.type == "counter" else ():
                key = (sample.name, next(iter(sample.labels.values()), ""))
                counts[key] = counts.get(key, 0) + sample.value
    return counts


def wait_until_back(running: Running, killed: Process, word: str) -> None:
    running.wait_until(lambda: not is_running(killed), f"{word} is gone")
    time.sleep(ANSWER_KEPT_S)  # so that what says "ready" was asked since
    running.wait_until(lambda: has_child(running, word) and running.is_ready(), f"{word} is back")


def has_child(running: Running, word: str) -> bool:
    try:
        running.find_child(word)
    except AssertionError:
        return False
    return True


def test_after_a_kill_of_everything_the_next_start_has_what_was_accepted(running: Running) -> None:
    accepted = {running.post_trace("shop") for _ in range(20)}
    every = running.find_all()
    assert len(every) > len(PARTS)
    running.kill()
    for process in every:
        send_signal(process, signal.SIGKILL)
    running.start()
    assert accepted <= set(running.read_states())
    running.wait_until(lambda: all(running.read_states()[one] == 1 for one in accepted), "all is folded")


def test_after_a_kill_of_the_supervisor_alone_the_next_start_takes_over(running: Running) -> None:
    accepted = running.post_trace("shop")
    running.kill()
    running.start()
    assert accepted in running.read_states()
    assert running.stop() == 0
    assert running.find_all() == []
