/** The products, and how to find them. */

export interface Product {
  readonly id: number;
  readonly name: string;
  readonly category: string;
  readonly brand: string;
  readonly colours: readonly string[];
  readonly cents: number;
  readonly discount: number;
  readonly stars: number;
  readonly description: string;
  /** The picture before the picture: a BlurHash. */
  readonly placeholder: string;
  /** How much of each trait a product has, 0 to 1: what recommendations are made from. */
  readonly traits: readonly number[];
}

export interface Review {
  readonly author: string;
  readonly date: string;
  readonly stars: number;
  /** Markdown. */
  readonly text: string;
}

export class Catalogue {
  private readonly byId = new Map<number, Product>();
  private readonly byCategory = new Map<string, Product[]>();

  constructor(
    readonly products: readonly Product[],
    private readonly reviews: readonly (readonly Review[])[],
  ) {
    for (const product of products) {
      this.byId.set(product.id, product);
      const others = this.byCategory.get(product.category);
      if (others) {
        others.push(product);
      } else {
        this.byCategory.set(product.category, [product]);
      }
    }
  }

  get categories(): string[] {
    return [...this.byCategory.keys()];
  }

  find(id: number): Product {
    return this.byId.get(id) ?? this.products[0]!;
  }

  inCategory(name: string): readonly Product[] {
    return this.byCategory.get(name) ?? [];
  }

  reviewsOf(product: Product): readonly Review[] {
    return this.reviews[product.id % this.reviews.length]!;
  }

  /** Returns the products that people buy most: cheap for what they are, and well reviewed. */
  findBestSellers(count: number): Product[] {
    const rank = (product: Product): number => product.stars * 10 + product.discount - product.cents / 5_000;
    return [...this.products].sort((one, other) => rank(other) - rank(one)).slice(0, count);
  }
}
