"""The lint's rules for markers, their schemas, and samples on a real clock. It is a part of `lint`."""

from collections.abc import Iterator
from typing import Any

Profile = dict[str, Any]

DISPLAYS = "marker-chart marker-table timeline-overview timeline-memory timeline-ipc timeline-fileio stack-chart"
# Formats of fields, and the JSON types their values may have. Indexes into the string table are not used by us.
FORMATS: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "file-path": (str,),
    "sanitized-string": (str,),
    "string": (str,),
    "duration": (int, float),
    "time": (int, float),
    "milliseconds": (int, float),
    "bytes": (int, float),
    "percentage": (int, float),
    "integer": (int,),
    "decimal": (int, float),
    "list": (list,),
}
GRAPH_TYPES = "bar line line-filled"
GRAPH_COLORS = "blue green grey ink magenta orange purple red teal yellow"


def schema_faults(profile: Profile) -> Iterator[str]:
    """Yields the faults of the schemas."""
    names = [schema["name"] for schema in profile["meta"]["markerSchema"]]
    if len(set(names)) != len(names):
        yield "a marker schema occurs twice"
    for schema in profile["meta"]["markerSchema"]:
        name, keys = schema["name"], [field["key"] for field in schema.get("fields", ())]
        if "fields" not in schema:
            yield f"the schema {name} lacks fields"
        for word in schema["display"]:
            if word not in DISPLAYS.split():
                yield f"the schema {name} is displayed in {word!r}"
        for field in schema.get("fields", ()):
            form = field["format"]
            if form not in FORMATS if isinstance(form, str) else form.get("type") != "table":
                yield f"the field {name}.{field['key']} has the format {form!r}"
        for graph in schema.get("graphs", ()):
            if graph["key"] not in keys or graph["type"] not in GRAPH_TYPES.split():
                yield f"a graph of {name} shows no field"
            if graph["color"] not in GRAPH_COLORS.split():
                yield f"a graph of {name} has the color {graph['color']!r}"
        for label in ("tooltipLabel", "tableLabel", "chartLabel"):
            yield from _template_faults(f"{name}.{label}", schema.get(label, ""), keys)


def _template_faults(where: str, template: str, keys: list[str]) -> Iterator[str]:
    known = {f"marker.{word}" for word in ("name", "start", "end", "duration", "category")}
    known |= {f"marker.data.{key}" for key in keys}
    for part in template.split("{")[1:]:
        inner, closing, _ = part.partition("}")
        if not closing or inner not in known:
            yield f"the template {where} has {{{inner}}}, which is nothing"


def marker_faults(profile: Profile, markers: Profile) -> Iterator[str]:
    """Yields the faults of one thread's markers."""
    schemas = {schema["name"]: schema for schema in profile["meta"]["markerSchema"]}
    strings, categories = profile["shared"]["stringArray"], profile["meta"]["categories"]
    if markers["startTime"] != sorted(markers["startTime"]):
        yield "markers are not in order of start"
    rows = zip(*(markers[name] for name in ["data", "name", "startTime", "endTime", "phase", "category"]), strict=True)
    for row, (data, name, start, end, phase, category) in enumerate(rows):
        if type(name) is not int or not 0 <= name < len(strings):
            yield f"name[{row}] = {name!r} is no text"
        if not 0 <= category < len(categories):
            yield f"category[{row}] = {category!r} is no category"
        if phase not in (0, 1) or (end is None) != (phase == 0):
            yield f"phase[{row}] = {phase!r} does not fit its times"
        if end is not None and end < start:
            yield f"marker {row} ends before it starts"
        schema = schemas.get(data.get("type"))
        if schema is None:
            yield f"data[{row}] is of no schema"
            continue
        fields = {field["key"]: field["format"] for field in schema["fields"]}
        for key, value in data.items():
            if key != "type":
                yield from _value_faults(f"data[{row}].{key}", value, fields.get(key))


def _value_faults(where: str, value: object, form: Any) -> Iterator[str]:
    if form is None:
        yield f"{where} is no field of its schema"
    elif isinstance(form, dict):
        width = len(form["columns"])
        if not isinstance(value, list) or any(not isinstance(row, list) or len(row) != width for row in value):
            yield f"{where} is no table of {width} columns"
        else:
            for row in value:
                for column, cell in zip(form["columns"], row, strict=True):
                    if type(cell) not in FORMATS[column.get("type", "string")]:
                        yield f"{where} holds {cell!r}, no {column.get('type', 'string')}"
    elif type(value) not in FORMATS[form]:
        yield f"{where} = {value!r} is no {form}"


def clock_faults(profile: Profile, samples: Profile) -> Iterator[str]:
    """Yields the faults of CPU use, if a profile has it."""
    deltas = samples.get("threadCPUDelta")
    if deltas is None:
        return
    if len(deltas) != samples["length"]:
        yield f"threadCPUDelta has {len(deltas)} rows, not {samples['length']}"
    if "threadCPUDelta" not in profile["meta"].get("sampleUnits", {}):
        yield "the unit of threadCPUDelta is not told"
    for row, (delta, step) in enumerate(zip(deltas, samples["timeDeltas"], strict=False)):
        if type(delta) is not int or delta < 0 or (row and delta > step * 1000 + 1):
            yield f"threadCPUDelta[{row}] = {delta!r} is no part of its {step} ms"
