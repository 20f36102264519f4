"""What becomes of an attempt to hand a message over."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Receipt:
    """A message arrived. `status` is that of the answer, None for a mail. `problem` says for whom it did not."""

    status: int | None
    problem: str | None = None


class Undelivered(Exception):
    """A message did not arrive. `is_final`: it never will, the receiver says."""

    def __init__(self, problem: str, *, status: int | None = None, wait_s: int = 0, is_final: bool = False) -> None:
        super().__init__(problem)
        self.status, self.wait_s, self.is_final = status, wait_s, is_final
