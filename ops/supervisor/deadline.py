"""How long to wait for a part: as long as there is progress, which is processor time of its processes and the stores'.

A machine may be so busy that a start takes minutes. A part that is stuck uses no processor time.
"""

import time
from collections.abc import Callable
from typing import Final

from ops.supervisor.messages import StartError

QUIET_LIMIT_S: Final = 120.0  # without progress; a busy machine gives each process its turn much sooner
# What counts as progress in that time. Processes that only wait use less, those that start a second or two.
PROGRESS_S: Final = 0.25
WHOLE_LIMIT_S: Final = 3_600.0  # with progress: one that computes in circles also ends
TELL_EVERY_S: Final = 30.0
POLL_FIRST_S: Final = 0.02
POLL_MAX_S: Final = 0.5  # asking is work for those who are asked, and none of it is progress


class Deadline:
    """One wait. `read_used_s` returns the processor time that those who work for it have used so far."""

    def __init__(
        self,
        what: str,
        read_used_s: Callable[[], float],
        say: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.read_used_s, self.say, self.now = what, read_used_s, say, now
        self.began_s = self.moved_at_s = self.reported_at_s = now()
        self.used_s = self.first_used_s = read_used_s()
        self.poll_s = POLL_FIRST_S

    def check(self) -> None:
        """Says now and then what it waits for. Raises StartError if there was no progress for too long."""
        now_s = self.now()
        if now_s - self.reported_at_s >= TELL_EVERY_S or now_s - self.moved_at_s > QUIET_LIMIT_S:
            used_s = self.read_used_s()
            if abs(used_s - self.used_s) >= PROGRESS_S:  # less than before: one of them was replaced
                self.used_s, self.moved_at_s = used_s, now_s
        waited_s = now_s - self.began_s
        if now_s - self.moved_at_s > QUIET_LIMIT_S:
            raise StartError(
                f"Waited {waited_s:.0f} s for this, in vain: {self.what}. Nothing has moved for {QUIET_LIMIT_S:.0f} s."
            )
        if waited_s > WHOLE_LIMIT_S:
            raise StartError(f"Waited {waited_s:.0f} s for this, in vain: {self.what}.")
        if now_s - self.reported_at_s >= TELL_EVERY_S:
            self.reported_at_s = now_s
            used_s = max(0.0, self.used_s - self.first_used_s)
            self.say(f"Still waiting, for {waited_s:.0f} s ({used_s:.1f} s of processor time): {self.what}.")

    def note_progress(self) -> None:
        """Counts an answer, such as that a server is still starting, as progress."""
        self.moved_at_s = self.now()

    def pause(self) -> None:
        """Sleeps, first briefly, later longer."""
        time.sleep(self.poll_s)
        self.poll_s = min(self.poll_s * 1.2, POLL_MAX_S)
