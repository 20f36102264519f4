"""What all endpoints share: the base view, authentication, encoding, the OpenAPI document."""
