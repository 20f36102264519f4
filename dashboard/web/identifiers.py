"""Ids in addresses."""

from uuid import UUID

from django.http import Http404


def read_uuid(text: str) -> UUID:
    """Returns an id. Raises `Http404` for a text that is none."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404("This is no id.") from None
