/** The cart, kept in the browser. */

import type { Catalogue, Product } from './catalogue';
import { priceOf, shippingOf } from './prices';

export interface Line {
  readonly id: number;
  readonly count: number;
}

export interface Totals {
  readonly goods: number;
  readonly shipping: number;
  readonly tax: number;
  readonly all: number;
}

const KEY = 'cart';
const TAX = 0.21;

export function readCart(): Line[] {
  return JSON.parse(localStorage.getItem(KEY) ?? '[]') as Line[];
}

export function addToCart(product: Product): Line[] {
  const lines = readCart();
  const known = lines.find((line) => line.id === product.id);
  const changed = known
    ? lines.map((line) => (line === known ? { ...line, count: line.count + 1 } : line))
    : [...lines, { id: product.id, count: 1 }];
  localStorage.setItem(KEY, JSON.stringify(changed));
  return changed;
}

export function sumUp(lines: readonly Line[], catalogue: Catalogue): Totals {
  const goods = lines.reduce((sum, line) => sum + priceOf(catalogue.find(line.id)) * line.count, 0);
  const shipping = shippingOf(goods);
  const all = goods + shipping;
  return { goods, shipping, tax: Math.round(all - all / (1 + TAX)), all };
}
