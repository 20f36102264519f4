"""Updates profcore/data/third_parties.json, the list of known third parties, from an npm archive.

The archive is that of the package third-party-web: `npm pack third-party-web`, and for --integrity
`npm view third-party-web dist.integrity`.
"""

import hashlib
import io
import tarfile
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from django.conf import settings

from profcore.code.parties import LIST_NAME, KnownParty, PartyList

LIST_MEMBER: Final = "package/dist/entities-nostats.json"
MAX_LIST_BYTES: Final = 16 * 2**20  # expanded; version 0.30 has 200 kB


def pack_list(archive: bytes, *, integrity: str) -> bytes:
    """Returns the list to store from an npm archive of `third-party-web`. `integrity` is npm's digest of the archive.

    Raises `ValueError` if the archive is a different one, or has no such list.
    """
    algorithm, _, _ = integrity.partition("-")
    if algorithm != "sha512" or b64encode(hashlib.sha512(archive).digest()).decode() != integrity[7:]:
        raise ValueError("the archive does not match integrity=")
    members = _read_members(archive, (LIST_MEMBER, "package/package.json", "package/LICENSE"))
    about = msgspec.json.decode(members["package/package.json"], type=dict[str, object])
    listed = msgspec.json.decode(members[LIST_MEMBER], type=list[KnownParty])
    packed = PartyList(
        package=str(about["name"]),
        version=str(about["version"]),
        integrity=integrity,
        licence=str(about["license"]),
        licence_text=members["package/LICENSE"].decode(),
        parties=tuple(sorted(listed, key=lambda party: party.name)),
    )
    return msgspec.json.format(msgspec.json.encode(packed), indent=1) + b"\n"


def _read_members(archive: bytes, names: Sequence[str]) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for name in names:
            try:
                member = tar.getmember(name)
                stream = tar.extractfile(member)
            except KeyError:
                stream = None
            if stream is None or member.size > MAX_LIST_BYTES:
                raise ValueError(f"the archive has no {name} of a usable size")
            members[name] = stream.read()
    return members


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path, help="the .tgz that npm packed")
    parser.add_argument("--integrity", required=True, help="its digest in the registry: sha512-…")
    options = parser.parse_args()
    try:
        packed = pack_list(options.archive.read_bytes(), integrity=options.integrity)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from error
    target = Path(settings.BASE_DIR) / "profcore" / "data" / LIST_NAME
    target.write_bytes(packed)
    print(f"{target.name}: {len(packed)} bytes")
