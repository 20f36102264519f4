/** The shop's server: one request for the whole catalogue. */

import { Catalogue, type Product, type Review } from './catalogue';

interface Answer {
  readonly products: readonly Product[];
  readonly reviews: readonly (readonly Review[])[];
}

export async function loadCatalogue(): Promise<Catalogue> {
  const response = await fetch('/api/catalogue.json');
  const text = await response.text();
  return parseCatalogue(text);
}

export function parseCatalogue(text: string): Catalogue {
  const answer = JSON.parse(text) as Answer;
  return new Catalogue(answer.products, answer.reviews);
}
