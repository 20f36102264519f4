"""What a refusal or a trace set aside means to whoever reads the data quality page, and what to do about it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from profcore.errors import Reason

OUR_SNIPPET: Final = "The snippet never sends this: look at what else posts, and read the answer’s path and detail."
CUT_OFF: Final = "Some come from pages that were left while they sent. Many: look for a proxy that cuts bodies off."

# reason: (what it means, what to do)
REASON_WORDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        Reason.INVALID_JSON: ("The body is no JSON, or was cut off.", CUT_OFF),
        Reason.INVALID_UTF8: ("The body is not UTF-8.", OUR_SNIPPET),
        Reason.INVALID_GZIP: ("Damaged or cut-off gzip.", CUT_OFF),
        Reason.TOO_NESTED: ("JSON nested too deeply to read.", OUR_SNIPPET),
        Reason.MISSING_FIELD: ("A required field is absent.", OUR_SNIPPET),
        Reason.WRONG_TYPE: ("A field has another type.", OUR_SNIPPET),
        Reason.INVALID_VALUE: (
            "A value that cannot be, such as an empty release.",
            "Check data-release of the snippet.",
        ),
        Reason.OUT_OF_RANGE: (
            "A number beyond its limits.",
            "Often a device’s clock, years off. Nothing to do if few.",
        ),
        Reason.TOO_LONG: ("A text beyond its limit.", "Shorten the release, page or tags that the page sends."),
        Reason.TOO_MANY: (
            "Too many samples, frames, marks or tags in one trace.",
            "Record for a shorter time, or send fewer.",
        ),
        Reason.TOO_DEEP: ("A stack deeper than the limit.", OUR_SNIPPET),
        Reason.DANGLING_ID: ("The trace points to an entry that it does not have.", OUR_SNIPPET),
        Reason.PARENT_ORDER: ("A stack comes before its caller.", OUR_SNIPPET),
        Reason.MISSING_PAGE: ("Neither page nor url was sent.", OUR_SNIPPET),
        Reason.TOO_LARGE: (
            "The body is larger than the limit.",
            "Record for a shorter time, or raise FIELDFLAME_MAX_BODY_BYTES or FIELDFLAME_MAX_EXPANDED_BYTES.",
        ),
        Reason.TOO_MANY_ENVELOPES: (
            "Too many traces in one post.",
            "Send smaller batches, or raise FIELDFLAME_MAX_ENVELOPES.",
        ),
        Reason.EMPTY_BODY: ("Nothing came, or the connection ended early.", CUT_OFF),
        Reason.UNSUPPORTED_MEDIA: ("Neither text/plain nor application/json.", OUR_SNIPPET),
        Reason.UNKNOWN_KEY: ("No key, an unknown or a revoked one.", "Put the key that is in use on the page."),
        Reason.ORIGIN_NOT_ALLOWED: (
            "A page of an origin that is not on the key’s list.",
            "If the site is yours, add its origin to the key. Else it is a copy of your page or a proxy: leave it out.",
        ),
        Reason.RATE_LIMITED: (
            "More traces a second than the project may send.",
            "Lower the sample rate (data-rate), or raise FIELDFLAME_RATE_PER_S.",
        ),
        Reason.TOO_MANY_PENDING: (
            "Too many traces of the project wait to be folded.",
            "Start more workers; see whether one runs at all (/readyz).",
        ),
        Reason.TOO_MANY_PAGES: (
            "A new page × release, and the project has as many as it may.",
            "Addresses with ids look like pages: add route rules, or send data-page.",
        ),
        Reason.QUOTA_EXCEEDED: (
            "The project’s traces of that UTC day were used up.",
            "Raise the quota in the settings, or lower the sample rate (data-rate).",
        ),
        Reason.UNAVAILABLE: (
            "The database did not answer in time.",
            "Look at the database’s load and log of that hour.",
        ),
        Reason.BODY_MISSING: (
            "The body expired before it was folded.",
            "Workers stood still too long: start more, or keep raw traces longer.",
        ),
        Reason.CRASHED: (
            "A worker died over it three times.",
            "Fetch the raw trace and report it; others are not harmed.",
        ),
        Reason.FOLD_ERROR: ("It could not be folded.", "Fetch the raw trace and report it; others are not harmed."),
        Reason.VIEW_EXPIRED: (
            "It came after its view’s row had expired.",
            "Clocks or queues that are weeks late. Nothing to do if few.",
        ),
    }
)


def explain_reason(reason: str) -> tuple[str, str]:
    """Returns what a reason means, and what to do. One that is no longer known explains nothing."""
    return REASON_WORDS.get(reason, ("", ""))
