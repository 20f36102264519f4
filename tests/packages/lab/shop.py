"""A small shop in seven releases. Each release changes some functions in a known way.

Its functions cost what real ones do: arithmetic, maps, JSON, strings, layout. Most costs grow with the list that is
shown, one with its square in some releases, one not at all, and one depends on whether a cart was kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal

Kind = Literal["factor", "fixed", "square", "callee", "new", "cache", "layout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a release differs in from the one before: rounds of work by function, and other forms of the code.

    `changed` says of each function that changed what kind of change it was.
    """

    name: str
    rounds: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, Kind] = field(default_factory=dict)
    has_square: bool = False
    has_callee: bool = False


# Rounds of work per function in the first release: some 10 to 30 ms each with a list of the lab.
FIRST_ROUNDS: Final = {
    "parseCatalogue": 60,
    "buildIndex": 400,
    "formatPrices": 2_000,
    "matchPairs": 1_500,
    "rankProducts": 2_000,
    "restoreCart": 2_000,
    "joinLabels": 160,
    "renderCards": 1,
    "bootTheme": 1_000_000,
    "decodeBadges": 0,
}
WORDS: Final[Mapping[Kind, str]] = {
    "factor": "its work by a factor",
    "fixed": "work that does not depend on the list",
    "square": "linear to quadratic, or back",
    "callee": "work moved into a new callee",
    "new": "a new function",
    "cache": "work that most users skip",
    "layout": "more style and layout",
}
RELEASES: Final[Sequence[Release]] = (
    Release(name="1.0", rounds=FIRST_ROUNDS),
    Release(
        name="1.1",
        rounds={"formatPrices": 4_000, "parseCatalogue": 30},
        changed={"formatPrices": "factor", "parseCatalogue": "factor"},
    ),
    Release(name="1.2", has_callee=True, changed={"rankProducts": "callee", "scoreProduct": "callee"}),
    Release(
        name="1.3",
        rounds={"bootTheme": 2_000_000},
        has_callee=True,
        has_square=True,
        changed={"matchPairs": "square", "bootTheme": "fixed"},
    ),
    Release(
        name="1.4",
        rounds={"decodeBadges": 2_000, "buildIndex": 640},
        has_callee=True,
        has_square=True,
        changed={"decodeBadges": "new", "buildIndex": "factor"},
    ),
    Release(
        name="1.5",
        rounds={"restoreCart": 5_000, "renderCards": 2},
        has_callee=True,
        has_square=True,
        changed={"restoreCart": "cache", "renderCards": "layout"},
    ),
    Release(
        name="1.6",
        rounds={"formatPrices": 2_000, "joinLabels": 320},
        has_callee=True,
        changed={"matchPairs": "square", "formatPrices": "factor", "joinLabels": "factor"},
    ),
)
# What the page does. `size` is the length of the list, `isKept` says that a cart was kept from an earlier visit.
SCRIPT: Final = """
const facts = new URLSearchParams(location.search);
const size = Number(facts.get('n')), isKept = facts.get('kept') === '1';
const prices = Float64Array.from({length: size}, (_, at) => (at * 7919) % 1000 + 1);
const rows = Array.from(prices, (price, at) => ({id: at, price, name: `product ${at}`}));
const main = document.querySelector('main');
let kept = 0;
function parseCatalogue() {
  for (let round = 0; round < ROUNDS.parseCatalogue; round += 1) kept += JSON.parse(JSON.stringify(rows)).length;
}
function buildIndex() {
  for (let round = 0; round < ROUNDS.buildIndex; round += 1) {
    const index = new Map();
    for (let at = 0; at < size; at += 1) index.set((at * 31) % size, at);
    kept += index.get(round % size);
  }
}
function formatPrices() {
  let sum = 0;
  for (let round = 0; round < ROUNDS.formatPrices; round += 1)
    for (let at = 0; at < size; at += 1) sum = (sum * 31 + prices[at]) % 1000003;
  kept += sum;
}
function matchPairs() {
  let sum = 0;
  const rounds = SQUARE ? size * 6 : ROUNDS.matchPairs;
  for (let round = 0; round < rounds; round += 1)
    for (let at = 0; at < size; at += 1) sum = (sum * 17 + prices[at]) % 1000003;
  kept += sum;
}
function scoreProduct(round) {
  let sum = 0;
  for (let at = 0; at < size; at += 1) sum = (sum * 13 + prices[at] * round) % 1000003;
  return sum;
}
function rankProducts() {
  let sum = 0;
  for (let round = 0; round < ROUNDS.rankProducts; round += 1) {
    if (CALLEE && round % 4) sum += scoreProduct(round);
    else for (let at = 0; at < size; at += 1) sum = (sum * 13 + prices[at] * round) % 1000003;
  }
  kept += sum;
}
function restoreCart() {
  let sum = 0;
  for (let round = 0; round < ROUNDS.restoreCart / (isKept ? 20 : 1); round += 1)
    for (let at = 0; at < size; at += 1) sum = (sum * 11 + prices[at]) % 1000003;
  kept += sum;
}
function joinLabels() {
  for (let round = 0; round < ROUNDS.joinLabels; round += 1) {
    let text = '';
    for (const row of rows) text += `${row.name}: ${row.price} `;
    kept += text.indexOf('#');
  }
}
function renderCards() {
  for (let round = 0; round < ROUNDS.renderCards; round += 1) {
    main.textContent = '';
    for (const row of rows) {
      const card = main.appendChild(document.createElement('div'));
      card.textContent = row.name;
      if (row.id % 100 === 0) kept += card.offsetHeight;
    }
  }
}
function bootTheme() {
  let sum = 0;
  for (let round = 0; round < ROUNDS.bootTheme; round += 1) sum = (sum * 29 + round) % 1000003;
  kept += sum;
}
function decodeBadges() {
  let sum = 0;
  for (let round = 0; round < ROUNDS.decodeBadges; round += 1)
    for (let at = 0; at < size; at += 1) sum = (sum * 19 + prices[at]) % 1000003;
  kept += sum;
}
const steps = [bootTheme, parseCatalogue, buildIndex, formatPrices, matchPairs, rankProducts, restoreCart, joinLabels,
  renderCards, decodeBadges];
function runStep() {
  const step = steps.shift();
  if (step) { step(); setTimeout(runStep, 5); } else document.title = 'done';
}
setTimeout(runStep, 20);
"""


def write_script(number: int) -> str:
    """Returns the script of a release, by its number."""
    rounds: dict[str, int] = {}
    for release in RELEASES[: number + 1]:
        rounds.update(release.rounds)
    built = RELEASES[number]
    counts = ", ".join(f"{name}: {count}" for name, count in rounds.items())
    flags = f"const SQUARE = {str(built.has_square).lower()}, CALLEE = {str(built.has_callee).lower()};"
    return f"const ROUNDS = {{{counts}}};\n{flags}\n{SCRIPT}"


def name_script(number: int) -> str:
    """Returns the path of a release's script. Its name has a hash of its content, as bundlers write it."""
    return f"/app-{sha256(write_script(number).encode()).hexdigest()[:8]}.js"
