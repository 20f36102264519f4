/** "You may also like": products with the traits of the one on the screen. */

import type { Product } from '../catalogue';

const SHOWN = 8;
/** So many of the best are looked at for variety. */
const FINALISTS = 40;
/** Two products that are more alike than this count as the same thing in another colour. */
const TOO_ALIKE = 0.97;

/** Returns the products to show next to another one, the best first. */
export function rankRecommendations(current: Product, candidates: readonly Product[]): Product[] {
  const scored: { product: Product; score: number }[] = [];
  for (const candidate of candidates) {
    let likeness = 0;
    for (let trait = 0; trait < current.traits.length; trait += 1) {
      likeness += current.traits[trait]! * candidate.traits[trait]!;
    }
    if (candidate.id !== current.id) {
      scored.push({ product: candidate, score: likeness * candidate.stars });
    }
  }
  const finalists = scored.sort((one, other) => other.score - one.score).slice(0, FINALISTS);

  // Variety: of products that are nearly the same, only the best is shown. The best few are enough to compare.
  const chosen: Product[] = [];
  for (const { product } of finalists) {
    if (chosen.length < SHOWN && !chosen.some((other) => findLikeness(product, other) > TOO_ALIKE)) {
      chosen.push(product);
    }
  }
  return chosen;
}

/** Returns the cosine of two products' traits: 1 if they have the same mix. */
function findLikeness(one: Product, other: Product): number {
  let both = 0;
  let first = 0;
  let second = 0;
  for (let trait = 0; trait < one.traits.length; trait += 1) {
    both += one.traits[trait]! * other.traits[trait]!;
    first += one.traits[trait]! ** 2;
    second += other.traits[trait]! ** 2;
  }
  return both / Math.sqrt(first * second);
}
