"""The building blocks of the shapes of answers."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

Json = dict[str, object]
Shape = serializers.Serializer[Any]  # Any: shapes never get an instance


def define_shape(name: str, doc: str, fields: Mapping[str, serializers.Field[Any, Any, Any, Any]]) -> type[Shape]:
    """Returns a serializer class. Its fields may be named like Python keywords or DRF's own attributes."""
    return type(name, (serializers.Serializer,), {"__doc__": doc, **fields})


def interval_field(**options: Any) -> serializers.ListField:  # Any: serializer options
    """Returns the field of a 95 % interval: two numbers, or null if there is too little data."""
    return serializers.ListField(child=serializers.FloatField(), allow_null=True, min_length=2, max_length=2, **options)
