"""Maps of other generators: our own source by tsc 5.9.3, its output by terser 5.51.2, and the source by swc 1.16.22.

`tests/data/builds/cart.ts` is the source. Each row is a function's position in the bundle, as a browser reports it, its
name (`-` for an anonymous one) and the line of the source it is on: checked by hand.
"""

from pathlib import Path
from typing import Final

import pytest

from profcore.symbolicate.labels import label_positions
from profcore.symbolicate.maps import read_map

BUILDS: Final = Path(__file__).parents[2] / "data" / "builds"
EXPECTED: Final = {
    "swc": """
1:45 make 3
1:71 Cart.constructor 4
1:128 Cart.get total 5
1:156 - 5
1:180 Cart.load 6
1:219 Cart.walk 7
1:256 Cart.#secret 8
1:276 Cart.twice 9
1:320 outer 11
1:336 - 13
1:340 - 12
1:369 inner 14
1:405 - 14
1:457 onClick 17
1:478 onKey 17
1:489 a-b 17
1:526 main 20
1:537 later 18
1:570 - 20
1:589 - 21
""",
    "tsc": """
4:19 make 3
5:16 Cart.constructor 4
9:14 Cart.get total 5
9:44 - 5
10:15 Cart.load 6
11:10 Cart.walk 7
13:12 Cart.#secret 8
14:10 Cart.twice 9
16:22 outer 11
17:21 curried 12
17:28 - 12
18:29 - 13
19:19 inner 14
19:75 - 14
22:36 onClick 17
22:59 onKey 17
22:85 a-b 17
23:15 later 18
25:21 assigned 19
26:29 main 20
26:56 - 20
27:12 - 21
28:15 iife 22
""",
    "tsc_terser": """
1:45 make 3
1:71 Cart.constructor 4
1:128 Cart.get total 5
1:156 - 5
1:180 Cart.load 6
1:219 Cart.walk 7
1:258 Cart.#secret 8
1:278 Cart.twice 9
1:322 outer 11
1:340 - 13
1:355 - 12
1:391 inner 14
1:427 - 14
1:479 onClick 17
1:500 onKey 17
1:511 a-b 17
1:539 assigned 19
1:580 main 20
1:591 later 18
1:624 - 20
1:644 - 21
""",
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_function_has_its_own_name_or_none(name: str) -> None:
    source_map = read_map((BUILDS / f"{name}.js.map").read_bytes())
    rows = [row.split(" ", 1) for row in EXPECTED[name].strip().splitlines()]
    positions = [(int(line), int(column)) for line, _, column in (place.partition(":") for place, _ in rows)]
    bundle = (BUILDS / f"{name}.js").read_bytes()
    labels = label_positions(source_map, positions, file=f"{name}.js", bundle=bundle)
    assert [f"{label.name or '-'} {label.line}" for label in labels if label] == [what for _, what in rows]
