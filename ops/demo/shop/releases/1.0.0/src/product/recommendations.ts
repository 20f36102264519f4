/** "You may also like": products with the traits of the one on the screen. */

import type { Product } from '../catalogue';

const SHOWN = 8;

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
  return scored
    .sort((one, other) => other.score - one.score)
    .slice(0, SHOWN)
    .map(({ product }) => product);
}
