"""What the OpenAPI document says beyond what it reads from the views. Importing this registers it."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular has no types
    """Describes the tokens. Apart from their class, which DRF imports before spectacular can be."""

    target_class = "dashboard.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token of the project."}
