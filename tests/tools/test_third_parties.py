"""The list of known third parties is made of the archive that npm names."""

import hashlib
import io
import tarfile
from base64 import b64encode

import msgspec
import pytest

from profcore.code.parties import PartyList
from tools.make_third_parties import pack_list


def pack(files: dict[str, bytes]) -> tuple[bytes, str]:
    """Returns an npm archive and its integrity."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo("package/" + name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    archive = stream.getvalue()
    return archive, "sha512-" + b64encode(hashlib.sha512(archive).digest()).decode()


def test_the_list_is_packed_from_the_archive_that_npm_names_and_no_other() -> None:
    parties = [{"name": "B", "company": "B", "category": "ad", "domains": ["*.b.example"], "homepage": "x"}]
    files = {
        "dist/entities-nostats.json": msgspec.json.encode(parties),
        "package.json": b'{"name": "third-party-web", "version": "9.9.9", "license": "MIT"}',
        "LICENSE": b"Do what you like.",
    }
    archive, integrity = pack(files)
    packed = msgspec.json.decode(pack_list(archive, integrity=integrity), type=PartyList)
    assert (packed.version, packed.licence_text) == ("9.9.9", "Do what you like.")
    assert [(party.name, party.domains) for party in packed.parties] == [("B", ("*.b.example",))]
    with pytest.raises(ValueError, match="does not match"):
        pack_list(archive + b"x", integrity=integrity)
    del files["LICENSE"]
    archive, integrity = pack(files)
    with pytest.raises(ValueError, match="no package/LICENSE"):
        pack_list(archive, integrity=integrity)
