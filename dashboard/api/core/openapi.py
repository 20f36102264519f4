"""Additions to the OpenAPI document. Importing this module registers them."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular has no types
    """Describes the tokens. It is not next to their class, which DRF imports before spectacular can be imported."""

    target_class = "dashboard.api.core.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token of the project."}
