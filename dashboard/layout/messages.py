"""Messages for the next page, in a cookie of the server's own path."""

from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.http import HttpResponseBase


class MessageCookie(CookieStorage):
    """Django's cookie of messages, whose name and path are no settings."""

    cookie_name = f"{settings.COOKIE_PREFIX}{CookieStorage.cookie_name}"


class MessageStorage(FallbackStorage):
    """Messages in a cookie, those that are too long for it in the session."""

    storage_classes = (MessageCookie, SessionStorage)

    def update(self, response: HttpResponseBase) -> list[Any] | None:  # Any: as in Django's stubs
        """Stores what is new, and returns what there was no room for."""
        unstored: list[Any] | None = super().update(response)
        if cookie := response.cookies.get(MessageCookie.cookie_name):
            cookie["path"] = settings.SESSION_COOKIE_PATH
        return unstored
