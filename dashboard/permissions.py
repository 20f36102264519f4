"""Who may ask the read API at all; what he may see is `access`'s to say."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from ingest.models import ApiToken


class HasCredentials(BasePermission):
    """Lets in a live token or a logged-in user; others get 401. A token gets in where its scope leads, else 403."""

    message = "This token uploads source maps, and does nothing else."

    def has_permission(self, request: Request, view: APIView) -> bool:
        if isinstance(request.auth, ApiToken):
            return request.auth.scope in getattr(view, "token_scopes", ())
        return bool(request.user and request.user.is_authenticated)
