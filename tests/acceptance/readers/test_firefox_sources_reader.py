"""Mozilla's reader shows the code of a function from the texts that the profile has, at the right line."""

from dataclasses import replace
from pathlib import Path

import pytest

from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import ExportFunc, ExportOriginal
from tests.profcore.formats.builders import URI, export_of, read_from
from tests.profile_reader import open_profile

pytestmark = pytest.mark.slow(4)

TEXT = "// prices\nimport { tax } from './tax';\n\nexport function total(items) {\n  return items.length;\n}\n"


def test_a_functions_code_is_shown_at_the_line_of_its_definition(tmp_path: Path) -> None:
    mapped = ExportFunc(
        label="total", name="t", uri=URI, line=1, column=900, original=ExportOriginal("src/prices.ts", 4, 8)
    )
    bare = ExportFunc(label="other", name="o", uri=URI, line=1, column=950)
    export = export_of({"total": 30_000, "other": 110_000}, funcs=[mapped, bare])
    export = replace(export, contents=read_from({"src/prices.ts": TEXT}))
    path = tmp_path / "profile.json"
    path.write_bytes(b"".join(write_profile(export)))

    with open_profile(path) as reader:
        handles = {func.name: f"f-{func.index}" for func in reader.read_functions()}
        code = {
            name: reader.command(
                {"command": "function", "subcommand": "annotate", "function": handle, "annotateMode": "src"}
            )["srcAnnotation"]
            for name, handle in handles.items()
        }

    lines = {line["lineNumber"]: line for line in code["total"]["lines"]}
    assert code["total"]["filename"] == "src/prices.ts"
    assert lines[4]["sourceText"] == "export function total(items) {"
    assert lines[4]["totalSamples"] == 30
    assert all(line["sourceText"] is None for line in code["other"]["lines"]), "the profile has no text of the script"
