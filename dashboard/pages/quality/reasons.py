"""What each reason for a refused or rejected trace means, and what to do about it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from profcore.errors import Reason

OUR_SNIPPET: Final = "The snippet never sends this. Find out what does: the response has a path and detail."
CUT_OFF: Final = "Normal for a few pages that were left while sending. If there are many, check your proxies."

REPORT_IT: Final = "Download the raw trace and report it. Other traces are not affected."

# reason: (what it means, what to do)
REASON_WORDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        Reason.INVALID_JSON: ("The body is not JSON, or was cut off.", CUT_OFF),
        Reason.INVALID_UTF8: ("The body is not UTF-8.", OUR_SNIPPET),
        Reason.INVALID_GZIP: ("The gzip body is damaged or was cut off.", CUT_OFF),
        Reason.TOO_NESTED: ("The JSON is nested too deeply.", OUR_SNIPPET),
        Reason.MISSING_FIELD: ("A required field is missing.", OUR_SNIPPET),
        Reason.WRONG_TYPE: ("A field has the wrong type.", OUR_SNIPPET),
        Reason.INVALID_VALUE: (
            "A value is not allowed, such as an empty release.",
            "Check the snippet’s data-release.",
        ),
        Reason.OUT_OF_RANGE: (
            "A number is beyond its limits.",
            "Often a device’s clock is years off. Ignore it if there are few.",
        ),
        Reason.TOO_LONG: ("A text is too long.", "Shorten the release, page or tags that the page sends."),
        Reason.TOO_MANY: (
            "One trace has too many samples, frames, marks or tags.",
            "Record for a shorter time, or send fewer marks and tags.",
        ),
        Reason.TOO_DEEP: ("A stack is too deep.", OUR_SNIPPET),
        Reason.DANGLING_ID: ("The trace refers to an entry that it does not have.", OUR_SNIPPET),
        Reason.PARENT_ORDER: ("A stack comes before its caller.", OUR_SNIPPET),
        Reason.MISSING_PAGE: ("Neither page nor url was sent.", OUR_SNIPPET),
        Reason.TOO_LARGE: (
            "The body is too large.",
            "Record for a shorter time, or raise FIELDFLAME_MAX_BODY_BYTES or FIELDFLAME_MAX_EXPANDED_BYTES.",
        ),
        Reason.TOO_MANY_ENVELOPES: (
            "One request has too many traces.",
            "Send smaller batches.",
        ),
        Reason.EMPTY_BODY: ("The body is empty, or the connection ended early.", CUT_OFF),
        Reason.TOO_SLOW: (
            "The body was sent too slowly.",
            "Normal for a few devices in weak networks. A proxy that receives uploads first helps them.",
        ),
        Reason.UNSUPPORTED_MEDIA: ("The content type is neither text/plain nor application/json.", OUR_SNIPPET),
        Reason.UNKNOWN_KEY: ("The key is missing, unknown or revoked.", "Use an active key on the page."),
        Reason.ORIGIN_NOT_ALLOWED: (
            "The page’s origin is not allowed for this key.",
            "If the site is yours, add its origin to the key. Otherwise ignore it: it is a copy of your page.",
        ),
        Reason.PROJECT_ARCHIVED: (
            "The project is archived.",
            "Restore it in its settings, or remove the snippet from the pages.",
        ),
        Reason.RATE_LIMITED: (
            "The project sends too many traces per second.",
            "Lower the sampling rate (data-rate), or raise FIELDFLAME_RATE_PER_S.",
        ),
        Reason.TOO_MANY_PENDING: (
            "Too many traces of the project are pending.",
            "Check whether a worker runs (/readyz), or start more workers.",
        ),
        Reason.TOO_MANY_PAGES: (
            "The project had too many pages × releases for an import.",
            "Addresses with ids may count as pages. Add route rules, or raise FIELDFLAME_MAX_GROUPS.",
        ),
        Reason.QUOTA_EXCEEDED: (
            "A quota was used up: of traces or megabytes a day (UTC), or of megabytes kept.",
            "Raise the quota in the settings, or lower the sampling rate (data-rate).",
        ),
        Reason.UNAVAILABLE: (
            "The database did not answer in time, or too many large or slow bodies came at once.",
            "Check the database’s load and log of that hour.",
        ),
        Reason.BODY_MISSING: (
            "The body expired before it was folded.",
            "Workers were too slow: start more, or keep raw traces longer.",
        ),
        Reason.CRASHED: (
            "A worker crashed on it three times.",
            REPORT_IT,
        ),
        Reason.FOLD_ERROR: ("Folding failed.", REPORT_IT),
        Reason.VIEW_EXPIRED: (
            "It was received after its view had expired.",
            "A clock or a queue is weeks late. Ignore it if there are few.",
        ),
    }
)


def explain_reason(reason: str) -> tuple[str, str]:
    """Returns what a reason means, and what to do. Both are empty if the reason is unknown."""
    return REASON_WORDS.get(reason, ("", ""))
