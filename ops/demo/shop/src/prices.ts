/** Money: what a thing costs, as people write it. */

import type { Product } from './catalogue';

const LANGUAGE = 'en-GB';
const CURRENCY = 'EUR';

/** A formatter takes longer to make than to use. */
const formatter = new Intl.NumberFormat(LANGUAGE, { style: 'currency', currency: CURRENCY });

export function formatPrice(cents: number): string {
  return formatter.format(cents / 100);
}

export function priceOf(product: Product): number {
  return Math.round(product.cents * (1 - product.discount / 100));
}

/** Returns the cost of sending things of so many cents. */
export function shippingOf(cents: number): number {
  return cents === 0 || cents >= 5_000 ? 0 : 490;
}
