"""Why a trace was refused: a closed list of reasons, each with a path into the JSON and a sentence."""

from enum import StrEnum


class Reason(StrEnum):
    """The reason codes of the ingest contract. Each is a metric tag and the `reason` of an answer."""

    INVALID_JSON = "invalid_json"
    INVALID_UTF8 = "invalid_utf8"
    INVALID_GZIP = "invalid_gzip"
    TOO_NESTED = "too_nested"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"
    INVALID_VALUE = "invalid_value"
    OUT_OF_RANGE = "out_of_range"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    TOO_DEEP = "too_deep"
    DANGLING_ID = "dangling_id"
    PARENT_ORDER = "parent_order"
    MISSING_PAGE = "missing_page"
    TOO_LARGE = "too_large"
    TOO_MANY_ENVELOPES = "too_many_envelopes"
    EMPTY_BODY = "empty_body"
    TOO_SLOW = "too_slow"
    UNSUPPORTED_MEDIA = "unsupported_media"
    UNKNOWN_KEY = "unknown_key"
    ORIGIN_NOT_ALLOWED = "origin_not_allowed"
    PROJECT_ARCHIVED = "project_archived"
    RATE_LIMITED = "rate_limited"
    TOO_MANY_PENDING = "too_many_pending"
    TOO_MANY_PAGES = "too_many_pages"
    QUOTA_EXCEEDED = "quota_exceeded"
    UNAVAILABLE = "unavailable"
    BODY_MISSING = "body_missing"
    CRASHED = "crashed"
    FOLD_ERROR = "fold_error"
    VIEW_EXPIRED = "view_expired"


class TraceError(Exception):
    """A trace cannot be accepted: has a reason of the closed list, a path (`$.trace.samples[3]`) and a sentence."""

    def __init__(self, reason: Reason, path: str, detail: str) -> None:
        super().__init__(f"{reason} at {path}: {detail}")
        self.reason = reason
        self.path = path
        self.detail = detail
