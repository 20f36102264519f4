"""Files in forms: only a page that has a field for files takes some, and only once it knows who sends them.

Django reads a form before any view runs, to check its CSRF token, and writes the files in it to the disk. So anyone
could fill the disk by a form that has no such field, such as that of the login.
"""

from typing import Any, Never

from django.core.files.uploadhandler import (
    FileUploadHandler,
    MemoryFileUploadHandler,
    StopUpload,
    TemporaryFileUploadHandler,
)
from django.http import HttpRequest


class NoFiles(FileUploadHandler):
    """Stops reading a form at its first file."""

    def new_file(self, *args: Any, **kwargs: Any) -> Never:  # Any: as in Django's stubs
        raise StopUpload(connection_reset=True)


def take_files(request: HttpRequest) -> None:
    """Lets a form have files, which are read when they are asked for. Its view is exempt from the CSRF check before."""
    request.upload_handlers = [MemoryFileUploadHandler(request), TemporaryFileUploadHandler(request)]


def sent_bytes(request: HttpRequest) -> int:
    """Returns how many bytes a request says its body has, before any is read."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdecimal() else 0
