"""Who may ask the read API at all; what he may see is `access`'s to say."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from ingest.models import ApiToken


class HasCredentials(BasePermission):
    """Lets in a live token or a logged-in user; others get 401."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, ApiToken) or bool(request.user and request.user.is_authenticated)
