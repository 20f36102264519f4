"""A wait lasts as long as there is progress, and says what it waits for."""

import os
import subprocess
import sys
import time

import pytest

from config.up.messages import StartError
from config.up.patience import QUIET_LIMIT_S, TELL_EVERY_S, WHOLE_LIMIT_S, Patience
from config.up.proc import read_used_s


class Machine:
    """A clock, and a part that gets so much processor time a second."""

    def __init__(self, share: float) -> None:
        self.now_s, self.used_s, self.share = 1_000.0, 5.0, share
        self.said: list[str] = []
        self.patience = Patience("the web server answers", lambda: self.used_s, self.said.append, lambda: self.now_s)

    def wait(self, seconds: float) -> None:
        """Lets time pass in steps of a second, each with a look."""
        for _ in range(int(seconds)):
            self.now_s += 1
            self.used_s += self.share
            self.patience.check()


def test_a_part_that_is_slow_but_moves_is_waited_for() -> None:
    machine = Machine(share=0.01)  # a hundred others want the same core
    machine.wait(3_000)
    assert machine.said[0].startswith("Still waiting, for 30 s (0.3 s of processor time): the web server answers")
    assert len(machine.said) == 3_000 / TELL_EVERY_S


def test_a_part_that_is_stuck_is_given_up_with_what_was_waited_for() -> None:
    machine = Machine(share=0.0)
    machine.wait(QUIET_LIMIT_S)
    with pytest.raises(StartError, match=r"^Waited 121 s for this, in vain: the web server answers\.") as raised:
        machine.wait(1)
    assert str(raised.value).endswith("Nothing has moved for 120 s.")


def test_a_part_that_only_idles_is_given_up() -> None:
    machine = Machine(share=0.001)
    with pytest.raises(StartError, match="Nothing has moved"):
        machine.wait(QUIET_LIMIT_S * 2)


def test_a_part_that_stops_moving_has_its_whole_time_again() -> None:
    machine = Machine(share=0.05)
    machine.wait(300)
    machine.share = 0.0
    machine.wait(QUIET_LIMIT_S)
    with pytest.raises(StartError, match="Nothing has moved"):
        machine.wait(TELL_EVERY_S + 1)


def test_an_answer_is_progress() -> None:
    machine = Machine(share=0.0)
    for _ in range(10):
        machine.wait(QUIET_LIMIT_S - 1)
        machine.patience.note_progress()


def test_a_part_that_computes_for_ever_is_given_up_at_last() -> None:
    machine = Machine(share=1.0)
    machine.wait(WHOLE_LIMIT_S)
    with pytest.raises(StartError, match="Waited 3601 s"):
        machine.wait(1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_processor_time_of_children_and_of_their_children_counts() -> None:
    burn = "x = 0\nwhile True: x += 1"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"
    before = read_used_s(os.getpid())
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as parent:
        deadline = time.monotonic() + 300
        while read_used_s(os.getpid()) < before + 0.5:
            assert time.monotonic() < deadline, "no processor time was seen"
            time.sleep(0.05)
        os.killpg(parent.pid, 9)
