"""Exports for tests with several readers, and the known differences of formats."""

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import ExportFunc, SliceExport, TimelineExport
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.wire import Envelope
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.readers import READERS, FormatReader, Key, Sums, format_sums

HOSTILE = (
    "(idle)",
    "(root)",
    "(program)",
    "(garbage collector)",
    "(hidden) of the page's own",
    "a;b;c 1",
    "line\nfeed\r\nand\ttab\x00",
    "</script><img src=x onerror=alert(1)>",
    "\u202eright to left",
    "no-break\u00a0space, next line\u0085, paragraph\u2029, wide\u3000space",
    "back\\slash \\n \\x3b",
    '"quoted", and, commas',
    "=HYPERLINK(1)",
    "'apostrophe",
    "naïve 😀 \x1b[2J",
    "RunTask",
    "ProfileChunk",
    " spaces around ",
    "lone \ud800 surrogate",
    "halves \ud83d\ude00 of a pair",
    "x" * 5_000,
)


def hostile_export() -> SliceExport:
    """Returns a slice with a func of every name, by itself and called by the one before; then built-ins of the same."""
    funcs = [
        ExportFunc(label=name, name=name, uri=f"https://shop.example/{n}.js", line=n + 1, column=2)
        for n, name in enumerate(HOSTILE)
    ]
    funcs += [ExportFunc(label=f"{name} native", name=f"{name} native") for name in HOSTILE]
    export = export_of(
        {"main": 1_000}, funcs=[ExportFunc(label="main", name="main"), *funcs], hidden_us=77, idle_us=123
    )
    for func in range(1, len(funcs) + 1):
        for prefix, us in ((-1, 10 + func), (func - 1, 3)):
            export.tree.prefix.append(prefix)
            export.tree.func.append(func)
            export.tree.self_us.append(us)
            export.tree.self_samples.append(1)
            export.tree.hidden_us.append(0)
    export.time.js_us = sum(export.tree.self_us)
    return export


def find_differences(export: SliceExport, format_name: str) -> list[str]:
    """Returns a line for each func for which a format differs from the export."""
    reader = READERS[format_name]
    expected = format_sums(export, reader)
    sums = reader.read(b"".join(EXPORTERS[reader.exporter].write(export)))
    lines = [f"idle: {sums.idle_us}, not {expected.idle_us}"] if sums.idle_us != expected.idle_us else []
    for what, ours, theirs in (
        ("self", expected.self_us, sums.self_us),
        ("total", expected.total_us, sums.total_us),
    ):
        for key in ours.keys() | theirs.keys():
            if ours.get(key) != theirs.get(key):
                lines.append(f"{what} of {key}: {theirs.get(key)}, not {ours.get(key)}")
    return lines


def export_view(*views: list[Envelope], page: str = "/cart") -> TimelineExport:
    """Returns views of the given traces, as the selectors would."""
    funcs = FuncTable()
    built = [build_timeline([ViewTrace(e) for e in traces], page=page, funcs=funcs) for traces in views]
    exported = [
        ExportFunc(label=key.name, name=key.name, uri=key.uri, line=key.line, column=key.column) for key in funcs.keys
    ]
    return TimelineExport(
        project="shop", query=f"view={built[0].view_id}", funcs=exported, views=built, link="https://flame.example/v"
    )


def fold_sums(traces: list[Envelope], reader: FormatReader, page: str = "/cart") -> Sums:
    """Returns the fold's sums of traces, in the terms of a format."""

    def key_of(key: FuncKey) -> Key:
        return reader.key(Key(key.name or "(anonymous)", key.uri, key.line or None, key.column or None))

    funcs, sums = FuncTable(), Sums()
    for envelope in traces:
        fold = fold_trace(envelope, page=page, funcs=funcs)
        for into, of in ((sums.self_us, fold.sums.self_us), (sums.total_us, fold.sums.total_us)):
            for index, us in of.items():
                if us:
                    key = key_of(funcs.keys[index])
                    into[key] = into.get(key, 0) + us
        sums.add([reader.key(Key("(hidden)"))], fold.parts.hidden_us)
        sums.idle_us += fold.parts.idle_us if reader.idle else 0
    return sums
