/** Filters of a category, and how many products each of them would leave. */

import type { Product } from './catalogue';
import { priceOf } from './prices';

export interface Filters {
  readonly brands: ReadonlySet<string>;
  readonly colours: ReadonlySet<string>;
  readonly maxCents: number;
}

export type Order = 'popular' | 'cheap' | 'dear';

export const NO_FILTERS: Filters = { brands: new Set(), colours: new Set(), maxCents: Infinity };

export function filterProducts(products: readonly Product[], filters: Filters): Product[] {
  const { brands, colours, maxCents } = filters;
  return products.filter((product) => (brands.size === 0 || brands.has(product.brand))
    && (colours.size === 0 || product.colours.some((colour) => colours.has(colour)))
    && priceOf(product) <= maxCents);
}

export function sortProducts(products: readonly Product[], order: Order): Product[] {
  const compare: Record<Order, (one: Product, other: Product) => number> = {
    popular: (one, other) => other.stars - one.stars,
    cheap: (one, other) => priceOf(one) - priceOf(other),
    dear: (one, other) => priceOf(other) - priceOf(one),
  };
  return [...products].sort(compare[order]);
}

export interface Facet {
  readonly value: string;
  readonly count: number;
}

/** Returns the values of a field with the number of products that have them, the most frequent first. */
export function countFacets(products: readonly Product[], read: (product: Product) => readonly string[]): Facet[] {
  const counts = new Map<string, number>();
  for (const product of products) {
    for (const value of read(product)) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return [...counts].map(([value, count]) => ({ value, count })).sort((one, other) => other.count - one.count);
}
