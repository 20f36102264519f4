"""The spec's dialect: alone, with facts around it, and as our own envelopes."""

import msgspec

from profcore.errors import Reason
from tests.corpus import corpus_envelopes
from tests.profcore.formats.importers.reading import (
    NOW_MS,
    PLACES,
    lines,
    places,
    read,
    read_envelope,
    read_fault,
    sample,
    sample_json,
)


def test_a_bare_trace_comes_in_as_it_is() -> None:
    (imported,) = read(sample("trace.json"))

    envelope = imported.completed.envelope
    assert imported.importer.name == "trace"
    assert lines(envelope) == [
        "0 main",
        "10 main render",
        "20 main render price",
        "30 main render price",
        "40 -",
        "50 main render setTimeout",
        "60 -",
    ]
    assert places(envelope) == PLACES


def test_a_bare_trace_is_kept_in_the_shape_the_api_gives_it() -> None:
    (imported,) = read(sample("trace.json"))

    assert msgspec.json.decode(imported.completed.body)["trace"] == sample_json("trace.json")


def test_what_a_bare_trace_does_not_say_is_filled_and_named() -> None:
    (imported,) = read(sample("trace.json"))

    envelope = imported.completed.envelope
    assert imported.completed.missing == ("release", "timeOrigin", "page", "sampleInterval", "viewId")
    assert (envelope.release, envelope.page, envelope.timeOrigin) == ("given-release", "/given", NOW_MS)
    assert (envelope.sampleInterval, envelope.seq) == (10, 0)
    assert (envelope.userAgent, envelope.device, envelope.marks, envelope.isolated) == (None, None, [], None)
    assert envelope.tags == {"imported": "trace"}


def test_an_envelope_keeps_its_bytes_and_its_own_facts() -> None:
    (imported,) = read(sample("envelope.json"))

    assert imported.importer.name == "envelope"
    assert imported.completed.body == sample("envelope.json")
    assert imported.completed.missing == ()
    assert (imported.completed.envelope.release, imported.completed.envelope.seq) == ("2.1.0", 3)


def test_every_recorded_envelope_comes_back_byte_for_byte() -> None:
    for _, envelope in list(corpus_envelopes())[::40]:
        body = msgspec.json.encode(envelope)
        (imported,) = read(body)
        assert imported.completed.body == body


def test_facts_around_a_trace_are_taken_where_they_are() -> None:
    fields = {"release": "3", "page": "/x", "sampleInterval": 20, "userAgent": "Chrome", "isolated": True}
    envelope = read_envelope({"trace": sample_json("trace.json"), **fields})

    assert (envelope.release, envelope.page, envelope.sampleInterval) == ("3", "/x", 20)
    assert (envelope.userAgent, envelope.isolated, envelope.timeOrigin) == ("Chrome", True, NOW_MS)


def test_the_explainers_timing_tells_when_the_load_began() -> None:
    envelope = read_envelope({"timing": {"navigationStart": 1_795_256_990_000}, "trace": sample_json("trace.json")})

    assert envelope.timeOrigin == 1_795_256_990_000


def test_a_fault_is_named_by_its_path_in_the_bare_trace() -> None:
    trace = sample_json("trace.json")
    trace["samples"][3]["stackId"] = 99

    assert read_fault(trace) == (Reason.DANGLING_ID, "$.samples[3].stackId")


def test_an_envelope_that_the_endpoint_would_refuse_is_refused() -> None:
    envelope = sample_json("envelope.json")
    envelope["timeOrigin"] = 7

    assert read_fault(envelope) == (Reason.OUT_OF_RANGE, "$.timeOrigin")
