// Invents the shop's products: the same ones at every build.
import { encode } from 'blurhash';

const SEED = 20260101;
const PRODUCTS = 1_200;
const TRAITS = 24;
const REVIEWS = 10;

const CATEGORIES = ['boots', 'jackets', 'tents', 'backpacks', 'stoves', 'lamps', 'maps', 'bottles'];
const BRANDS = ['Alder', 'Birch', 'Cairn', 'Dune', 'Ember', 'Fjord', 'Grove', 'Heath', 'Isle', 'Juniper'];
const COLOURS = ['moss', 'slate', 'rust', 'sand', 'ink', 'snow'];
const KINDS = ['Light', 'Winter', 'Trail', 'Summit', 'Harbour', 'Meadow', 'Night', 'Long-distance', 'City', 'Storm'];
const WORDS = `a the with of for and made warm dry light strong seams pockets sole canvas wool brass steel water wind
rain morning night summit valley walk carry fold pack repair waxed recycled double stitched quiet bright narrow wide
proof layer frame handle strap lining buckle cork felt leather nylon simple honest tested hills coast winter summer
years days mountain forest river camp fire kettle bread friends weekend long short heavy season`.split(/\s+/);
const AUTHORS = ['Ada', 'Ben', 'Carmen', 'Dev', 'Edith', 'Farid', 'Greta', 'Hiro', 'Ines', 'Jon'];

/** Returns a function that returns numbers from 0 to 1, the same ones for one seed (mulberry32). */
function makeChance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns the catalogue as the shop's server sends it. */
export function makeCatalogue() {
  const chance = makeChance(SEED);
  const pick = (values) => values[Math.floor(chance() * values.length)];
  const write = (count) => Array.from({ length: count }, () => pick(WORDS)).join(' ');

  const makeReview = () => ({
    author: pick(AUTHORS),
    date: new Date(Date.UTC(2026, 0, 1) - Math.floor(chance() * 400) * 86_400_000).toISOString().slice(0, 10),
    stars: 2 + Math.floor(chance() * 4),
    text: `**${write(4)}**\n\n${write(30)} *${write(3)}* ${write(20)}.\n\n- ${write(6)}\n- [${write(2)}](/product/1)\n\n`
      + `> ${write(12)}\n\n| ${write(1)} | ${write(1)} |\n|---|---|\n| ${write(2)} | \`${write(1)}\` |\n\n${write(40)}.`,
  });

  const makePlaceholder = () => {
    const pixels = Uint8ClampedArray.from({ length: 8 * 6 * 4 }, (_, at) => (at % 4 === 3 ? 255 : chance() * 255));
    return encode(pixels, 8, 6, 4, 3);
  };

  const makeProduct = (_, id) => ({
    id,
    name: `${pick(KINDS)} ${pick(WORDS)} ${CATEGORIES[id % CATEGORIES.length].replace(/s$/, '')} ${id}`,
    category: CATEGORIES[id % CATEGORIES.length],
    brand: pick(BRANDS),
    colours: COLOURS.filter(() => chance() < 0.6).concat('grey'),
    cents: 900 + Math.floor(chance() * 30_000),
    discount: pick([0, 0, 0, 10, 20, 30]),
    stars: 2 + Math.floor(chance() * 31) / 10,
    description: write(24),
    placeholder: makePlaceholder(),
    traits: Array.from({ length: TRAITS }, () => Math.round(chance() * 100) / 100),
  });

  // Products share reviews, to keep the answer small.
  const reviews = Array.from({ length: 40 }, () => Array.from({ length: REVIEWS }, makeReview));
  const products = Array.from({ length: PRODUCTS }, makeProduct);
  return { products, reviews };
}
