import { readCart } from './cart';
import type { Catalogue } from './catalogue';

export function Header({ catalogue }: { readonly catalogue: Catalogue }) {
  const count = readCart().reduce((sum, line) => sum + line.count, 0);
  return (
    <header>
      <a class="home" href="/">Hill & Dale</a>
      <nav>{catalogue.categories.map((name) => <a key={name} href={`/category/${name}`}>{name}</a>)}</nav>
      <a class="cart" href="/checkout">Cart ({count})</a>
    </header>
  );
}
