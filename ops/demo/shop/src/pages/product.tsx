import { useMemo, useState } from 'preact/hooks';
import { Grid } from '../cards';
import { addToCart } from '../cart';
import type { Catalogue } from '../catalogue';
import { Header } from '../header';
import { formatPrice, priceOf } from '../prices';
import { Gallery } from '../product/gallery';
import { rankRecommendations } from '../product/recommendations';
import { Reviews } from '../product/reviews';

export function Page({ catalogue, value }: { readonly catalogue: Catalogue; readonly value: string }) {
  const product = catalogue.find(Number(value));
  const recommended = useMemo(() => rankRecommendations(product, catalogue.products), [product, catalogue]);
  const [added, setAdded] = useState(0);
  const add = (): void => {
    addToCart(product);
    setAdded(added + 1);
  };
  return (
    <>
      <Header catalogue={catalogue} />
      <h1>{product.name}</h1>
      <Gallery product={product} />
      <p class="price">{formatPrice(priceOf(product))}</p>
      <button id="add" onClick={add}>{added ? `${added} in your cart` : 'Add to cart'}</button>
      <p>{product.description}</p>
      <h2>You may also like</h2>
      <Grid products={recommended} />
      <Reviews reviews={catalogue.reviewsOf(product)} />
    </>
  );
}
