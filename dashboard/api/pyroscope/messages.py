"""The messages of Pyroscope's `querier.v1.QuerierService` that we read and write, in protocol buffers and in JSON.

They are declared here as the wire has them: names for JSON, numbers and types for the binary encoding. Fields that are
missing here are skipped when a request is read. `google.protobuf` makes the classes, so there is no generated code.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError, Message

FIELD: Final = re.compile(r"(\w+) (\d+) (\w+)([*?]?)")  # a name, its number, its type; * is repeated, ? may be absent
PACKAGE: Final = "pyroscope"
SCALARS: Final = ("string", "bytes", "bool", "int64", "double")
MAX_DEPTH: Final = 20  # of messages in messages; a request has three

ENUMS: Final[Mapping[str, Sequence[str]]] = {
    "ProfileFormat": (
        "PROFILE_FORMAT_UNSPECIFIED",
        "PROFILE_FORMAT_FLAMEGRAPH",
        "PROFILE_FORMAT_TREE",
        "PROFILE_FORMAT_DOT",
        "PROFILE_FORMAT_PPROF",
    ),
    "AsyncQueryType": ("ASYNC_QUERY_TYPE_DISABLED", "ASYNC_QUERY_TYPE_FORCE"),
    "TimeSeriesAggregationType": ("TIME_SERIES_AGGREGATION_TYPE_SUM", "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"),
}
TYPE: Final = "profile_typeID 1 string"
SELECTOR: Final = "label_selector 2 string"
RANGE_3: Final = ("start 3 int64", "end 4 int64")
STACKS: Final = ("call_site 1 Location*", "go_pgo 2 GoPGO?")
MESSAGES: Final[Mapping[str, Sequence[str]]] = {
    "ProfileTypesRequest": ("start 1 int64", "end 2 int64"),
    "ProfileTypesResponse": ("profile_types 1 ProfileType*",),
    "ProfileType": (
        *("ID 1 string", "name 2 string", "sample_type 4 string", "sample_unit 5 string"),
        *("period_type 6 string", "period_unit 7 string"),
    ),
    "LabelNamesRequest": ("matchers 1 string*", "start 2 int64", "end 3 int64"),
    "LabelNamesResponse": ("names 1 string*",),
    "LabelValuesRequest": ("name 1 string", "matchers 2 string*", *RANGE_3),
    "LabelValuesResponse": ("names 1 string*",),
    "LabelPair": ("name 1 string", "value 2 string"),
    "Labels": ("labels 1 LabelPair*",),
    "SeriesRequest": ("matchers 1 string*", "label_names 2 string*", *RANGE_3),
    "SeriesResponse": ("labels_set 2 Labels*",),
    "SelectSeriesRequest": (
        *(TYPE, SELECTOR, *RANGE_3, "group_by 5 string*", "step 6 double"),
        *("aggregation 7 TimeSeriesAggregationType?", "stack_trace_selector 8 StackTraceSelector?", "limit 9 int64?"),
    ),
    "SelectSeriesResponse": ("series 1 Series*",),
    "Series": ("labels 1 LabelPair*", "points 2 Point*"),
    "Point": ("value 1 double", "timestamp 2 int64"),
    "SelectMergeStacktracesRequest": (
        *(TYPE, SELECTOR, *RANGE_3, "max_nodes 5 int64?", "format 6 ProfileFormat"),
        *("stack_trace_selector 7 StackTraceSelector?", "profile_id_selector 8 string*", "async 9 AsyncQueryRequest?"),
        *("trace_id_selector 10 string*", "span_selector 11 string*"),
    ),
    "SelectMergeStacktracesResponse": ("flamegraph 1 FlameGraph?", "pprof 5 PprofProfile?"),
    "SelectMergeProfileRequest": (
        *(TYPE, SELECTOR, *RANGE_3, "max_nodes 5 int64?", "stack_trace_selector 6 StackTraceSelector?"),
        *("profile_id_selector 7 string*", "trace_id_selector 8 string*"),
    ),
    "FlameGraph": ("names 1 string*", "levels 2 Level*", "total 3 int64", "max_self 4 int64"),
    "Level": ("values 1 int64*",),
    "PprofProfile": ("profile 1 bytes",),  # a message of pprof's, which we have as bytes
    "StackTraceSelector": STACKS,
    "Location": ("name 1 string",),
    "GoPGO": (),
    "AsyncQueryRequest": ("request_id 1 string", "type 2 AsyncQueryType"),
    "GetProfileStatsRequest": (),
    "GetProfileStatsResponse": (
        *("data_ingested 1 bool", "oldest_profile_time 2 int64", "newest_profile_time 3 int64"),
    ),
}


class MessageError(ValueError):
    """The bytes are not such a message; the text is a sentence."""


def _declare() -> descriptor_pool.DescriptorPool:
    """Returns all messages and enumerations, in a pool of their own: other packages may have the same names."""
    declared = descriptor_pb2.FileDescriptorProto(name=f"{PACKAGE}.proto", package=PACKAGE, syntax="proto3")
    for name, values in ENUMS.items():
        enum = declared.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in MESSAGES.items():
        _declare_fields(declared.message_type.add(name=name), fields)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(declared.SerializeToString())
    return pool


def _declare_fields(message: descriptor_pb2.DescriptorProto, fields: Sequence[str]) -> None:
    kinds = descriptor_pb2.FieldDescriptorProto
    for text in fields:
        match = FIELD.fullmatch(text)
        assert match is not None, text
        name, number, kind, mark = match.groups()
        field = message.field.add(name=name, number=int(number))
        field.label = kinds.LABEL_REPEATED if mark == "*" else kinds.LABEL_OPTIONAL
        if kind in SCALARS:
            field.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
        else:
            field.type = kinds.TYPE_ENUM if kind in ENUMS else kinds.TYPE_MESSAGE
            field.type_name = f".{PACKAGE}.{kind}"
        if mark == "?" and field.type != kinds.TYPE_MESSAGE:  # a message is known to be absent without it
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")


_POOL: Final = _declare()
_CLASSES: Final = {
    name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES
}


def make_message(kind: str, /, **fields: Any) -> Message:  # Any: what each field takes
    """Returns a message; a field may be a text, a number, a message, or a list of these."""
    return _CLASSES[kind](**fields)


def read_message(kind: str, body: bytes, *, is_json: bool) -> Any:  # Any: classes that are made here have no stubs
    """Returns the message of some bytes. Raises `MessageError`."""
    message = _CLASSES[kind]()
    try:
        if is_json:
            json_format.Parse(body, message, ignore_unknown_fields=True, max_recursion_depth=MAX_DEPTH)
        else:
            message.ParseFromString(body)
    except (DecodeError, json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise MessageError(f"The body is no {kind}: {str(error)[:200]}") from None
    return message


def write_message(message: Message, *, is_json: bool) -> bytes:
    """Returns the bytes of a message."""
    return json_format.MessageToJson(message, indent=None).encode() if is_json else message.SerializeToString()
