"""What the shapes of answers are made of."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

Json = dict[str, object]
Shape = serializers.Serializer[Any]  # Any: shapes are never fed an instance


def define_shape(name: str, doc: str, fields: Mapping[str, serializers.Field[Any, Any, Any, Any]]) -> type[Shape]:
    """Returns a serializer class whose fields have names that a class body cannot: keywords, and DRF's own words."""
    return type(name, (serializers.Serializer,), {"__doc__": doc, **fields})


def interval_field(**options: Any) -> serializers.ListField:  # Any: serializer options
    """Returns the field of a 95 % interval: two numbers, or null where the data bears none."""
    return serializers.ListField(child=serializers.FloatField(), allow_null=True, min_length=2, max_length=2, **options)
