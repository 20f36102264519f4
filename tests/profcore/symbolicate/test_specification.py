"""The cases of ECMA-426's own test suite (tc39/source-map-tests), as small maps of ours.

Each case is named as it is there (read on 2026-11-27, commit 7bfa363: 99 cases). The suite asks of a validator whether
a map is valid. We ask which names people get, and ECMA-426 lets a reader go on after most errors ("optionally report
an error"). So a case is read wherever that gives no wrong place. `pytest -s` prints how many are read.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from profcore.symbolicate.maps import MapError, SourceMap, read_map
from tests.source_map_writer import vlq, write_mappings

Places = dict[tuple[int, int], tuple[str, int, int, str | None] | None]

BASE: Final[dict[str, Any]] = {"version": 3, "names": ["n"], "sources": ["o.js"], "mappings": "AAAAA"}
LARGEST: Final = 2**31 - 1
GONE: Final = object()
ORIGIN: Final[Places] = {(0, 0): ("o.js", 0, 0, "n")}
NOWHERE: Final[Places] = {(0, 0): None}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case of the suite: whether the map is valid there, and our places by position, or the path of our refusal."""

    name: str
    is_valid: bool
    fields: dict[str, Any] = field(default_factory=dict)
    places: Places = field(default_factory=dict)
    refusal: str = ""

    @property
    def content(self) -> bytes:
        if "sections" in self.fields:
            return json.dumps({"version": 3, **self.fields}).encode()
        wire = {**BASE, **self.fields}
        return json.dumps({key: value for key, value in wire.items() if value is not GONE}).encode()


def valid(name: str, places: Places | None = None, **fields: Any) -> Case:
    return Case(name=name, is_valid=True, fields=fields, places=places or {})


def lenient(name: str, places: Places, **fields: Any) -> Case:
    """An invalid map that we read."""
    return Case(name=name, is_valid=False, fields=fields, places=places)


def refused(name: str, path: str, **fields: Any) -> Case:
    return Case(name=name, is_valid=False, fields=fields, refusal=path)


def section(line: object = 0, column: object = 0, **fields: Any) -> dict[str, Any]:
    return {"offset": {"line": line, "column": column}, "map": {**BASE, **fields}}


FIELDS = [
    valid("versionValid", ORIGIN),
    refused("versionMissing", "$", version=GONE),
    refused("versionNotANumber", "$.version", version="3rd"),
    lenient("versionNumericString", ORIGIN, version="3"),
    refused("versionTooHigh", "$.version", version=4),
    refused("versionTooLow", "$.version", version=2),
    refused("mappingsMissing", "$.mappings", mappings=GONE),
    refused("sourcesMissing", "$.sources", sources=GONE),
    refused("sourcesNotAList1", "$.sources", sources="o.js"),
    refused("sourcesNotAList2", "$.sources", sources={"o.js": 0}),
    lenient("sourcesNotStringOrNull", NOWHERE, sources=[7, {}, True, []]),
    valid("sourcesContentMissing", ORIGIN),
    lenient("sourcesContentNotAList1", ORIGIN, sourcesContent="f()"),
    lenient("sourcesContentNotAList2", ORIGIN, sourcesContent={"o.js": "f()"}),
    lenient("sourcesContentNotStringOrNull", ORIGIN, sourcesContent=[7, {}, True]),
    valid("sourcesAndSourcesContentBothNull", NOWHERE, sources=[None], sourcesContent=[None]),
    lenient("fileNotAString1", ORIGIN, file=[]),
    lenient("fileNotAString2", ORIGIN, file=7),
    lenient("sourceRootNotAString1", ORIGIN, sourceRoot=[]),
    lenient("sourceRootNotAString2", ORIGIN, sourceRoot=-7),
    valid("namesMissing", {(0, 0): ("o.js", 0, 0, None)}, names=GONE, mappings="AAAA"),
    lenient("namesNotAList1", {(0, 0): ("o.js", 0, 0, None)}, names="n"),
    lenient("namesNotAList2", {(0, 0): ("o.js", 0, 0, None)}, names={"n": 0}),
    lenient("namesNotString", {(0, 0): ("o.js", 0, 0, None)}, names=[None, 7, True, {}, []]),
    valid("ignoreListEmpty", ORIGIN, ignoreList=[]),
    valid("ignoreListValid1", ORIGIN, ignoreList=[0]),
    lenient("ignoreListWrongType1", ORIGIN, ignoreList=["o.js"]),
    lenient("ignoreListWrongType2", ORIGIN, ignoreList=["0"]),
    lenient("ignoreListWrongType3", ORIGIN, ignoreList=0),
    lenient("ignoreListWrongType4", ORIGIN, ignoreList=[0.5]),
    lenient("ignoreListOutOfBounds1", ORIGIN, ignoreList=[1]),
    lenient("ignoreListOutOfBounds2", ORIGIN, ignoreList=[-1]),
    valid("unrecognizedProperty", ORIGIN, ours=[1, {"a": 2}]),
]
AFTER: Places = {
    (0, 0): ("o.js", 0, 0, None),
    (0, 4): ("o.js", 1, 0, None),
}  # a good segment before and after a bad one
HOLE: Places = {**AFTER, (0, 2): None}
TWO = ["o.js", "p.js"]
MAPPINGS = [
    refused("invalidVLQDueToNonBase64Character", "$.mappings", mappings="AAAA,!"),
    refused("invalidVLQDueToNonBase64CharacterPadding", "$.mappings", mappings=";AAAA="),
    refused("invalidVLQDueToMissingContinuationDigits", "$.mappings", mappings="AAAg"),
    refused("invalidMappingNotAString1", "$.mappings", mappings=7),
    refused("invalidMappingNotAString2", "$.mappings", mappings=["AAAA"]),
    refused("invalidMappingSegmentBadSeparator", "$.mappings", mappings="AAAA:AAAA"),
    lenient("invalidMappingSegmentWithZeroFields", {(0, 0): ("o.js", 0, 0, None)}, mappings=",,AAAA,,"),
    lenient("invalidMappingSegmentWithTwoFields", HOLE, mappings="AAAA,EA,EACA"),
    lenient("invalidMappingSegmentWithThreeFields", HOLE, mappings="AAAA,EAA,EACA"),
    lenient("invalidMappingSegmentWithSourceIndexOutOfBounds", HOLE, mappings="AAAA,ECAA,EDCA"),
    lenient(
        "invalidMappingSegmentWithNameIndexOutOfBounds",
        {**AFTER, (0, 2): ("o.js", 0, 0, None)},
        mappings="AAAA,EAAAC,EACA",
    ),
    lenient("invalidMappingSegmentWithNegativeColumn", {(0, 0): ("o.js", 0, 0, None)}, mappings="DAAA,CAAA"),
    lenient("invalidMappingSegmentWithNegativeSourceIndex", {(0, 0): None, **NOWHERE}, mappings="ADAA"),
    lenient("invalidMappingSegmentWithNegativeOriginalLine", {**NOWHERE, (0, 1): AFTER[0, 0]}, mappings="AADA,CACA"),
    lenient("invalidMappingSegmentWithNegativeOriginalColumn", {**NOWHERE, (0, 1): AFTER[0, 0]}, mappings="AAAD,CAAC"),
    lenient("invalidMappingSegmentWithNegativeNameIndex", {(0, 0): ("o.js", 0, 0, None)}, mappings="AAAAD"),
    lenient("invalidMappingSegmentWithNegativeRelativeColumn", AFTER, mappings="AAAA,CAAA,FAAA,KACA"),
    lenient("invalidMappingSegmentWithNegativeRelativeSourceIndex", HOLE, mappings="AAAA,EDAA,ECCA"),
    lenient("invalidMappingSegmentWithNegativeRelativeOriginalLine", HOLE, mappings="AAAA,EADA,EAEA"),
    lenient("invalidMappingSegmentWithNegativeRelativeOriginalColumn", HOLE, mappings="AAAA,EAAD,EACC"),
    lenient(
        "invalidMappingSegmentWithNegativeRelativeNameIndex",
        {(0, 0): ("o.js", 0, 0, "n"), (0, 2): ("o.js", 0, 0, None)},
        mappings="AAAAA,EAAAD",
    ),
    refused("invalidMappingSegmentWithColumnExceeding32Bits", "$.mappings", mappings=vlq(2**31)),
    refused("invalidMappingSegmentWithSourceIndexExceeding32Bits", "$.mappings", mappings=f"A{vlq(2**31)}AA"),
    refused("invalidMappingSegmentWithOriginalLineExceeding32Bits", "$.mappings", mappings=f"AA{vlq(2**31)}A"),
    refused("invalidMappingSegmentWithOriginalColumnExceeding32Bits", "$.mappings", mappings=f"AAA{vlq(2**31)}"),
    refused("invalidMappingSegmentWithNameIndexExceeding32Bits", "$.mappings", mappings=f"AAAA{vlq(2**31)}"),
    valid(
        "validMappingFieldsWith32BitMaxValues",
        # Positions count from 1 here and fit 32 bits, so that the last original line and column are one less.
        {(0, LARGEST): ("o.js", LARGEST - 1, LARGEST - 1, "n")},
        mappings=f"{vlq(LARGEST)}A{vlq(LARGEST)}{vlq(LARGEST)}A",
    ),
    valid("validMappingLargeVLQ", {(0, 1): ("o.js", 0, 0, None)}, mappings="i" + "g" * 300 + "AAAA"),
    valid("validMappingEmptyGroups", {(9, 0): None}, mappings=";" * 60),
    valid("validMappingEmptyString", {(0, 0): None}, mappings=""),
    valid("vlqValidSingleDigit", {(0, 11): ("o.js", 0, 0, None)}, mappings="WAAA"),
    valid("vlqValidNegativeDigit", {(1, 3): ("o.js", 2, 1, None), (1, 9): ("o.js", 2, 7, None)}, mappings=";SAEO,NAAN"),
    valid("vlqValidContinuationBitPresent1", {(0, 6): ("o.js", 0, 2, None)}, mappings="sggAgAgAkgA"),
    valid("vlqValidContinuationBitPresent2", {(1, 40): ("o.js", 1, 20, None)}, mappings=";wCACoB"),
    valid("mappingSemanticsSingleFieldSegment", {(0, 0): ("o.js", 0, 2, None), (0, 3): None}, mappings="AAAE,G"),
    valid("mappingSemanticsFourFieldSegment", {(0, 3): ("p.js", 4, 5, None)}, sources=TWO, mappings="GCIK"),
    valid("mappingSemanticsFiveFieldSegment", {(0, 3): ("p.js", 4, 5, "n")}, sources=TWO, mappings="GCIKA"),
    valid("mappingSemanticsColumnReset", {(0, 2): AFTER[0, 0], (1, 2): AFTER[0, 4]}, mappings="EAAA;EACA"),
    valid("mappingSemanticsRelative1", {(0, 2): AFTER[0, 0], (0, 8): ("o.js", 0, 6, None)}, mappings="EAAA,MAAM"),
    valid(
        "mappingSemanticsRelative2",
        {(0, 2): ("o.js", 0, 3, "n"), (1, 1): ("o.js", 2, 4, "m")},
        names=["n", "m"],
        mappings="EAAGA;CAECC",
    ),
]
MAPPED = write_mappings([(0, 0, 0, 0, 0), (0, 9, 0, 0, 9, 0), (1, 2, 0, 1, 4)])
MAPPED_PLACES: Places = {(0, 0): ("o.js", 0, 0, None), (0, 12): ("o.js", 0, 9, "n"), (1, 5): ("o.js", 1, 4, None)}
SECTIONS = [
    refused("indexMapWrongTypeSections", "$.sections", sections="none"),
    refused("indexMapWrongTypeOffset", "$.sections[0].offset", sections=[{**section(), "offset": "0"}]),
    refused("indexMapWrongTypeMap", "$.sections[0].map", sections=[{**section(), "map": "none"}]),
    lenient("indexMapInvalidBaseMappings", ORIGIN, mappings="AAAA", sections=[section()]),
    refused("indexMapInvalidOverlap", "$.sections[1].offset", sections=[section(), section()]),
    refused("indexMapInvalidOrder", "$.sections[1].offset", sections=[section(1, 4), section()]),
    refused("indexMapMissingMap", "$.sections[0].map", sections=[{"offset": {"line": 0, "column": 0}}]),
    refused("indexMapInvalidSubMap", "$.sections[0].map.mappings", sections=[section(version="3", mappings=7)]),
    refused("indexMapMissingOffset", "$.sections[0]", sections=[{"map": BASE}]),
    refused("indexMapMissingOffsetLine", "$.sections[0].offset", sections=[{"offset": {"column": 0}, "map": BASE}]),
    refused("indexMapMissingOffsetColumn", "$.sections[0].offset", sections=[{"offset": {"line": 0}, "map": BASE}]),
    refused("indexMapOffsetLineWrongType", "$.sections[0].offset.line", sections=[section(True)]),
    refused("indexMapOffsetColumnWrongType", "$.sections[0].offset.column", sections=[section(0, True)]),
    valid("indexMapEmptySections", NOWHERE, sections=[]),
    lenient("indexMapFileWrongType1", ORIGIN, file=[], sections=[section()]),
    lenient("indexMapFileWrongType2", ORIGIN, file=7, sections=[section()]),
    valid("basicMappingWithIndexMap", MAPPED_PLACES, file="g.js", sections=[section(mappings=MAPPED)]),
    valid("indexMapWithMissingFile", MAPPED_PLACES, sections=[section(mappings=MAPPED)]),
    valid(
        "indexMapWithTwoConcatenatedSources",
        {(0, 0): ("o.js", 0, 0, "n"), (0, 62): ("p.js", 0, 0, "n"), (0, 70): ("p.js", 0, 0, "n")},
        sections=[section(), section(0, 62, sources=["p.js"])],
    ),
]
PLACES = [
    valid("basicMapping", MAPPED_PLACES, mappings=MAPPED),
    valid("sourceRootResolution", {(0, 0): ("root/o.js", 0, 0, "n")}, sourceRoot="root"),
    valid("sourceResolutionAbsoluteURL", {(0, 0): ("/a/o.js", 0, 0, "n")}, sources=["/a/o.js"]),
    # A place in a source without a name could be shown nowhere.
    valid("sourcesNullSourcesContentNonNull", NOWHERE, sources=[None], sourcesContent=["f()"]),
    valid("sourcesNonNullSourcesContentNull", ORIGIN, sourcesContent=[None]),
    # Maps of sources are not applied in turn: bundlers do that. The place is that of the first map.
    valid("transitiveMapping", ORIGIN),
    valid("transitiveMappingWithThreeSteps", ORIGIN),
]
CASES: Final = [*FIELDS, *MAPPINGS, *SECTIONS, *PLACES]


def place_of(source_map: SourceMap, line: int, column: int) -> tuple[str | None, int, int, str | None] | None:
    (place,) = source_map.find([(line + 1, column + 1)])
    return place and (source_map.sources[place.source], place.line - 1, place.column - 1, place.name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_of_the_suite_is_read_or_refused_with_its_place(case: Case) -> None:
    if case.refusal:
        with pytest.raises(MapError) as caught:
            read_map(case.content)
        assert caught.value.path == case.refusal
        return
    source_map = read_map(case.content)
    assert {at: place_of(source_map, *at) for at in case.places} == case.places


def test_all_valid_cases_and_half_of_the_others_are_read() -> None:
    invalid = [case for case in CASES if not case.is_valid]
    refusals = sorted(case.name for case in CASES if case.refusal)
    lenient_count = len(invalid) - len(refusals)
    print(
        f"\nECMA-426's suite: read are all {len(CASES) - len(invalid)} valid cases, {lenient_count} of {len(invalid)}"
    )
    print(f"invalid ones. Refused: {', '.join(refusals)}.")
    assert len({case.name for case in CASES}) == len(CASES) == 99
    assert not [case.name for case in CASES if case.is_valid and case.refusal]
    assert (len(invalid), lenient_count) == (67, 36)
