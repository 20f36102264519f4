/** Cards of products in a grid. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Product } from './catalogue';
import { decodePlaceholders } from './placeholders';
import { formatPrice, priceOf } from './prices';

export function Card({ product }: { readonly product: Product }) {
  const price = priceOf(product);
  return (
    <a class="card" href={`/product/${product.id}`}>
      <canvas class="picture" width="40" height="30" data-placeholder={product.placeholder} />
      <h3>{product.name}</h3>
      <p class="brand">{product.brand}</p>
      <p class="stars">{'★'.repeat(Math.round(product.stars))}</p>
      <p class="price">
        {formatPrice(price)} {price < product.cents && <s>{formatPrice(product.cents)}</s>}
      </p>
      <p class="text">{product.description}</p>
    </a>
  );
}

export function Grid({ products }: { readonly products: readonly Product[] }) {
  const grid = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    equalizeCards(grid.current!);
    decodePlaceholders(grid.current!);
  }, [products]);
  return <div class="grid" ref={grid}>{products.map((product) => <Card key={product.id} product={product} />)}</div>;
}

/** Gives the cards of a row one height: reads all heights, then writes all of them. */
function equalizeCards(grid: HTMLElement): void {
  const cards = [...grid.children] as HTMLElement[];
  for (const card of cards) {
    card.style.minHeight = '';
  }
  const rows = new Map<number, { height: number; cards: HTMLElement[] }>();
  for (const card of cards) {
    const { offsetTop, offsetHeight } = card;
    const row = rows.get(offsetTop) ?? { height: 0, cards: [] };
    row.height = Math.max(row.height, offsetHeight);
    row.cards.push(card);
    rows.set(offsetTop, row);
  }
  for (const { height, cards: inRow } of rows.values()) {
    for (const card of inRow) {
      card.style.minHeight = `${height}px`;
    }
  }
}
