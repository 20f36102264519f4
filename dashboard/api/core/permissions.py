"""Who may use the read API. `dashboard.web.access` decides which projects they see."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from dashboard.web.decorators import may_read
from projects.models import ApiToken


class HasCredentials(BasePermission):
    """Admits live tokens, logged-in users and guests; others get 401. A token without a fitting scope gets 403."""

    message = "This token has no scope for this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        if isinstance(request.auth, ApiToken):
            wanted = getattr(view, "token_scopes", ())
            granted = set(request.auth.scopes)
            scopes = "scope" if len(granted) == 1 else "scopes"
            self.message = f"This token has the {scopes} {', '.join(sorted(granted))}. It needs {' or '.join(wanted)}."
            return not granted.isdisjoint(wanted)
        return may_read(request.user)
