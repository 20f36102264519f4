"""Who may read and change alerts and channels by the API."""

from typing import Any, ClassVar, Final

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from dashboard.api.core.views import ERRORS, ProjectView
from dashboard.web.access import may_administer
from projects.models import ApiToken

MISSING: Final = "There is no such project, alert, state, channel or delivery, or you cannot read it."
FORBIDDEN: Final = "Only administrators and tokens with the scope alerts can do this."
SAFE: Final = ("GET", "HEAD", "OPTIONS")


class AlertsEndpoint(ProjectView):
    """The base of these endpoints. Administrators and tokens with the scope `alerts` change; others read.

    With `is_private`, others do not read either.
    """

    reading_scopes: ClassVar[tuple[str, ...]] = (ApiToken.Scope.READ, ApiToken.Scope.ALERTS)
    errors = {**ERRORS, 403: FORBIDDEN, 404: MISSING}
    is_private: ClassVar = False
    has_secret = False  # set by a handler whose answer no cache may keep

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Refuses changes by those who can only read."""
        is_read = request.method in SAFE or self.only_reads
        self.token_scopes = self.reading_scopes if is_read and not self.is_private else (ApiToken.Scope.ALERTS,)
        super().initial(request, *args, **kwargs)
        if (self.is_private or not is_read) and not self.may_change():
            raise PermissionDenied("Only administrators of the project and tokens with the scope alerts can do this.")

    def may_change(self) -> bool:
        """Returns whether the reader is an administrator, or a token that may change alerts."""
        if isinstance(self.request.auth, ApiToken):
            return ApiToken.Scope.ALERTS in self.request.auth.scopes
        return may_administer(self.request.user, self.project)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:  # Any: as above
        """Keeps a secret out of all caches."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.has_secret:
            response["Cache-Control"] = "private, no-store"
        return response
