"""The structured half of each tool's answer: the figures of its sentences. Times are milliseconds per page view."""

from pydantic import BaseModel, Field

Interval = tuple[float, float]


class Function(BaseModel):
    """A function. Its names are foreign text."""

    id: str
    label: str
    place: str | None = Field(None, description="Where it is defined: file:line:column")
    party: str | None = Field(None, description="Who serves it, if that is a third party")


class Cost(Function):
    """What a function costs each page view. `ci95` is the 95 % interval; null with too few page views."""

    ms_per_view: float
    ci95: Interval | None = None
    views_share: float | None = Field(None, description="In which part of the page views it ran")


class Change(Function):
    """By how much a function changed per page view."""

    page: str | None = None
    delta_ms: float
    ci95: Interval | None = None
    why: str | None = Field(None, description="new, gone, changed; own_time or hidden_time, in which it grew")


class PageChange(BaseModel):
    """By how much a page changed per page view."""

    page: str | None = Field(None, description="Null: all pages together")
    state: str
    delta_ms: float | None = None
    ci95: Interval | None = None
    views: tuple[int, int]


class Verdict(BaseModel):
    """Whether a release is slower than the one before it."""

    base: str | None = None
    head: str | None = None
    state: str
    is_confirmed: bool
    leading: PageChange
    functions: list[Change]
    pages: list[PageChange]
    link: str


class Savings(BaseModel):
    """The functions that are worth most to fix. `ci95[0]` is what a page view would save at least."""

    views: int
    functions: list[Cost]
    link: str


class Caller(Function):
    """A caller or a callee, with its part of the time."""

    share: float


class Release(BaseModel):
    """A function's cost in one release."""

    release: str
    views: int
    ms_per_view: float


class FunctionCost(BaseModel):
    """One function: cost, callers, callees and releases. Null if no function has the name."""

    views: int
    function: Cost | None = None
    others: list[Function] = Field(description="Other functions that the name fits")
    callers: list[Caller] = []
    callees: list[Caller] = []
    releases: list[Release] = []
    link: str


class Comparison(BaseModel):
    """What differs clearly between two sides, per page view."""

    base_views: int
    head_views: int
    delta_ms: float | None = None
    ci95: Interval | None = None
    functions: list[Change]
    link: str


class Window(BaseModel):
    """What ran until LCP, or during an interaction."""

    window: str
    views: int
    ms_per_view: float
    parts: dict[str, float]
    functions: list[Cost]


class Vitals(BaseModel):
    """What ran in the windows of Web Vitals."""

    windows: list[Window]
    link: str


class Alert(BaseModel):
    """An open alert."""

    text: str
    state: str
    began_at: str | None = None
    link: str


class Alerts(BaseModel):
    """What alerts say now."""

    open: list[Alert]
    rules: dict[str, str] = Field(description="The state of each alert by its name")
    link: str


class ProfileLink(BaseModel):
    """A profile of exactly the page views that were asked for."""

    viewer_url: str
    url: str
    command: str
    expires_at: str
