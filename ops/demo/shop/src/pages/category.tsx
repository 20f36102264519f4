import { useMemo, useState } from 'preact/hooks';
import { Grid } from '../cards';
import type { Catalogue } from '../catalogue';
import { countFacets, type Facet, type Filters, filterProducts, NO_FILTERS, type Order, sortProducts } from '../filters';
import { Header } from '../header';
import { buildSearchIndex, searchProducts } from '../search';

const SHOWN = 24;

export function Page({ catalogue, value }: { readonly catalogue: Catalogue; readonly value: string }) {
  const products = catalogue.inCategory(value);
  const index = useMemo(() => buildSearchIndex(products), [products]);
  const [query, setQuery] = useState('');
  const [filters, setFilters] = useState<Filters>(NO_FILTERS);
  const [order, setOrder] = useState<Order>('popular');

  const found = useMemo(() => (query ? searchProducts(index, query) : products), [index, products, query]);
  const shown = useMemo(() => {
    const left = filterProducts(found, filters);
    return (query ? left : sortProducts(left, order)).slice(0, SHOWN);
  }, [found, filters, order, query]);

  const toggleBrand = (brand: string): void => {
    const brands = new Set(filters.brands);
    if (!brands.delete(brand)) {
      brands.add(brand);
    }
    setFilters({ ...filters, brands });
  };

  return (
    <>
      <Header catalogue={catalogue} />
      <h1>{value}</h1>
      <input id="search" placeholder="Search" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
      <select id="order" value={order} onChange={(event) => setOrder(event.currentTarget.value as Order)}>
        <option value="popular">Popular</option>
        <option value="cheap">Cheapest first</option>
        <option value="dear">Most expensive first</option>
      </select>
      <aside>
        {countFacets(found, (product) => [product.brand]).map((facet) => (
          <FacetButton key={facet.value} facet={facet} isOn={filters.brands.has(facet.value)} toggle={toggleBrand} />
        ))}
      </aside>
      <Grid products={shown} />
    </>
  );
}

interface FacetProps {
  readonly facet: Facet;
  readonly isOn: boolean;
  readonly toggle: (value: string) => void;
}

function FacetButton({ facet, isOn, toggle }: FacetProps) {
  return (
    <button class={isOn ? 'facet on' : 'facet'} onClick={() => toggle(facet.value)}>
      {facet.value} ({facet.count})
    </button>
  );
}
