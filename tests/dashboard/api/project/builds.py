"""Uploads of a small build, as CI sends them."""

import gzip
import io
import tarfile

from tests.aggregate.sourcemaps.shop import BUNDLE, write_shop_map


def tar_of(**contents: bytes) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name.replace("__", "."))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue())


WHOLE = tar_of(main__js=BUNDLE, main__js__map=write_shop_map())
