"""What an endpoint or a job asks of a slice: its parameters are checked once, for either.

Endpoints answer at once, within the limits of a request. Jobs answer page by page, without these limits.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, Self

from django.http import QueryDict

from aggregate.jobs.runs import JobResult
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from dashboard.api.core.answer import Answer
from dashboard.api.core.parameters import FINE_PARAMS, SLICE_PARAMS, Parameter
from dashboard.web.answers import write_json
from dashboard.web.exports import name_file
from projects.models import Project

MAX_NODES: Final = 100_000


class Query(ABC):
    """A query on a slice. `params` are its parameters apart from the slice's."""

    __slots__ = ()
    kind: ClassVar[str]
    params: ClassVar[Sequence[Parameter]]

    @classmethod
    def known_params(cls) -> Sequence[Parameter]:
        """Returns all parameters, with the slice's."""
        return (*SLICE_PARAMS, *FINE_PARAMS, *cls.params)

    @classmethod
    @abstractmethod
    def read(cls, params: QueryDict) -> Self:
        """Returns the query of a query string. Raises `ParamError`."""

    @property
    def passes(self) -> tuple[bool, int]:
        """Whether a fine slice always needs its raw traces, and how often its traces are read."""
        return True, 1

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        """Returns the slices to read. Raises `SliceError` if query and slice contradict each other."""
        return [slice_]

    def check(self, slice_: Slice) -> None:
        """Raises `SliceError` if the query and the slice contradict each other."""
        self.slices(slice_)

    def answer(self, slice_: Slice, reading: Reading | None = None) -> Answer:
        """Returns the answer, within the limits of a request if `reading` is None."""
        raise NotImplementedError

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        """Returns the answer as a file, in pieces: what the read API would send."""
        name = f"{name_file(project, slice_)}-{self.kind}.json"
        return JobResult("application/json", name, [write_json(self.answer(slice_, reading))])
