/** Search as people type: with their mistakes, and over names, brands and descriptions. */

import Fuse from 'fuse.js';
import type { Product } from './catalogue';

export type SearchIndex = Fuse<Product>;

/** Returns an index of some products. It is made once for each category. */
export function buildSearchIndex(products: readonly Product[]): SearchIndex {
  const words = new Map<string, number>();
  for (const product of products) {
    for (const word of splitWords(`${product.name} ${product.description}`)) {
      words.set(word, (words.get(word) ?? 0) + 1);
    }
  }
  // Words that every second product has say nothing about a product.
  const common = new Set([...words].filter(([, count]) => count > products.length / 2).map(([word]) => word));
  return new Fuse([...products], {
    keys: [
      { name: 'name', weight: 3 },
      { name: 'brand', weight: 2 },
      { name: 'description', weight: 1, getFn: (product) => dropWords(product.description, common) },
    ],
    threshold: 0.35,
    ignoreLocation: true,
  });
}

export function searchProducts(index: SearchIndex, query: string): Product[] {
  return index.search(query).map((found) => found.item);
}

function splitWords(text: string): string[] {
  return text.toLowerCase().split(/[^\p{L}]+/u).filter((word) => word.length > 2);
}

function dropWords(text: string, unwanted: ReadonlySet<string>): string {
  return splitWords(text).filter((word) => !unwanted.has(word)).join(' ');
}
