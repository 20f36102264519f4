"""Archives of a build, and forms of several parts, by their grammars: as tools write them, and damaged."""

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from hypothesis import strategies as st

from aggregate.sourcemaps.archives import ArchiveError, open_archive
from tests.hostile.cases import ArchiveCase, RequestCase
from tests.hostile.core_parts import IMPORTS
from tests.hostile.edits import pick
from tests.hostile.lab import Lab, taken_back
from tests.hostile.measuring import check_cpu
from tests.hostile.read_parts import PROJECT, SETTINGS, ask_within_limits

CONTENTS: Final = pick(
    [b"", b"x", b"var a;\n//# sourceMappingURL=a.js.map", b"{}", b"\0" * 511, b"y" * 513, b"z" * 20_000]
)
# Paths of files that a build has.
PATHS: Final = pick(
    [
        "a.js",
        "./b.js",
        "c/d.js.map",
        "c//e.js",
        "größe.js",
        "🎈.js",
        "x" * 98 + ".js",
        "y/" * 80 + "z.js",
        "f g.js",
        "a.txt",
    ]
)
# Paths that no file of a build has, or that file managers add.
ODD: Final = pick(
    [
        "../a.js",
        "/etc/a.js",
        "a/../../b.js",
        "._a.js",
        "__MACOSX/a.js",
        "",
        ".",
        "a\\b.js",
        "C:\\a.js",
        chr(0xDCFF) + ".js",
    ]
)
FORMATS: Final = pick([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
KINDS: Final = pick([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, b"Z"])


class Member(NamedTuple):
    """A member of an archive; `kind` is that of a plain file, or of something that is skipped."""

    path: str
    content: bytes
    kind: bytes = tarfile.REGTYPE


class Damage(NamedTuple):
    """A change of some bytes at a place, in parts of a thousand; or the end there."""

    at: int
    content: bytes
    is_end: bool


def write_tar(members: Sequence[Member], tar_format: int) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w", format=tar_format, errors="surrogateescape") as archive:
            for path, content, kind in members:
                member = tarfile.TarInfo(path)
                member.type = kind
                member.linkname = "a.js" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
                member.size = len(content) if kind == tarfile.REGTYPE else 0
                archive.addfile(member, io.BytesIO(content))
        return file.getvalue()


def write_archive(
    members: Sequence[Member], others: Sequence[Member], tar_format: int, level: int, damages: Sequence[Damage]
) -> ArchiveCase:
    """Returns an archive of a build: plain files, what is skipped or refused, and maybe damage."""
    plain = list({member.path.replace("./", "").replace("//", "/"): member for member in members}.values())
    body = write_tar([*plain, *others], tar_format)
    packed = gzip.compress(body, level, mtime=0) if level >= 0 else body
    for at, content, is_end in damages:
        place = len(packed) * at // 1_000
        packed = packed[:place] + content + (b"" if is_end else packed[place + len(content) :])
    is_sound = not damages and all(member.kind != tarfile.REGTYPE for member in others)
    files = {member.path.replace("./", "").replace("//", "/"): member.content for member in plain}
    return ArchiveCase(packed, files if is_sound else None)


DAMAGES: Final = st.lists(
    st.builds(
        Damage,
        st.integers(0, 1_000),
        pick([b"", b"\0", b"\xff\xff", b"7" * 12, b"-1", b"\x80" + b"\xff" * 11]),
        st.booleans(),
    ),
    max_size=2,
)
ARCHIVES: Final = st.builds(
    write_archive,
    st.lists(st.builds(Member, PATHS, CONTENTS, st.just(tarfile.REGTYPE)), max_size=6),
    st.lists(st.builds(Member, PATHS | ODD, CONTENTS, KINDS | st.just(tarfile.REGTYPE)), max_size=2),
    FORMATS,
    pick([-1, 1, 9]),
    st.just([]) | DAMAGES,
)


def check_archive(case: ArchiveCase) -> None:
    """Reads an archive: it is refused with its error, or has the files that were put into it."""
    files: dict[str, bytes] = {}
    problem: list[str] = []

    def read() -> None:
        try:
            with open_archive(io.BytesIO(case.body)) as listed:
                files.update((file.path, file.read()) for file in listed)
        except ArchiveError as error:
            problem.append(str(error))

    check_cpu(read)
    if case.files is not None:
        assert not problem, problem
        assert files == case.files
    assert not any(path.startswith("/") or ".." in path.split("/") for path in files), list(files)


DATADOG: Final = "/datadog/KEY-shop/api/v2/profile"
# What Datadog's SDK sends: its event, its trace, and the same compressed, whole and cut.
PROFILE: Final = json.loads((IMPORTS / "datadog.json").read_bytes())
EVENT, TRACE = (json.dumps(PROFILE[name]).encode() for name in ("event", "wall-time.json"))
PROFILE_PARTS: Final = (EVENT, TRACE, zlib.compress(TRACE), zlib.compress(TRACE)[:-9], zlib.compress(b" " * 10**7))
# Forms of several parts. What is wrong in them is 400 or 413, and never an error.
NAMES: Final = pick(
    [
        *(b'"event"', b'"wall-time.json"', b'"wall-time.json"', b'"files"', b'"release"', b'"page"', b"files"),
        *(b'"', b'"a\\"b"', b"\xff", b'"csrfmiddlewaretoken"', b'""'),
    ]
)
FILE_NAMES: Final = pick(
    [
        b"",
        b'; filename="a.json"',
        b"; filename*=UTF-8''%e2%82%ac.json",
        b"; filename*=x",
        b'; filename="../\0"',
        b'; filename=""',
    ]
)
HEADERS: Final = pick(
    [
        *(
            b"",
            b"Content-Type: application/json\r\n",
            b"Content-Transfer-Encoding: base64\r\n",
            b"Content-Type: text/plain; charset=x\r\n",
        ),
        *(
            b"X: " + b"y" * 2_000 + b"\r\n",
            b"X\r\n",
            b": \r\n",
            b"Content-Disposition: form-data\r\n",
            b"X: y\n",
            b" \r\n",
        ),
    ]
)
BOUNDARIES: Final = pick([b"x", b"-" * 70, b"'()+_,-./:=?", b"x" * 300, b"", b"\xff", b" x "])
BODIES: Final = pick(
    [
        b"",
        b"{}",
        b"!!!",
        b"\r\n",
        b"--",
        b"--x",
        b"a" * 70_000,
        b"\xff\xfe{",
        b"=" * 90,
        b'{"viewId": 1}',
        *PROFILE_PARTS,
    ]
)
PARTS: Final = st.lists(st.tuples(NAMES, FILE_NAMES, HEADERS, BODIES), max_size=5)


def write_form(
    parts: Sequence[tuple[bytes, bytes, bytes, bytes]], boundary: bytes, times: int, cut: int, path: str
) -> RequestCase:
    """Returns the post of a form whose parts have odd headers; repeated, and cut at its end."""
    written = b"".join(
        b"--"
        + boundary
        + b"\r\nContent-Disposition: form-data; name="
        + name
        + file
        + b"\r\n"
        + header
        + b"\r\n"
        + body
        + b"\r\n"
        for name, file, header, body in parts
    )
    body = written * times + b"--" + boundary + b"--\r\n"
    media = "multipart/form-data; boundary=" + boundary.decode("latin-1")
    return RequestCase("POST", path.encode(), who="owner", body=body[: len(body) - cut], media=media)


MULTIPARTS: Final = st.builds(
    write_form,
    PARTS,
    BOUNDARIES,
    pick([1, 1, 1, 2, 30]),
    pick([0, 0, 0, 1, 2, 5, 40]),
    pick([PROJECT + "import/", PROJECT + "import/", SETTINGS + "source-maps/", SETTINGS, "/login/", DATADOG, DATADOG]),
)


def check_multipart(lab: Lab, case: RequestCase) -> None:
    """Posts a form, and leaves nothing behind."""
    with taken_back():
        ask_within_limits(lab, case)
