/** The pictures of a product. A click on a small one shows it large. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Product } from '../catalogue';
import { decodePlaceholders } from '../placeholders';

export function Gallery({ product }: { readonly product: Product }) {
  const [chosen, choose] = useState(0);
  const pictures = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => decodePlaceholders(pictures.current!), [product, chosen]);
  return (
    <div class="gallery" ref={pictures}>
      <canvas key={chosen} class="large picture" width="40" height="30" data-placeholder={product.placeholder} />
      <div class="thumbs">
        {product.colours.map((colour, index) => (
          <button key={colour} class={index === chosen ? 'thumb chosen' : 'thumb'} onClick={() => choose(index)}>
            <canvas class="picture" width="40" height="30" data-placeholder={product.placeholder} />
            {colour}
          </button>
        ))}
      </div>
    </div>
  );
}
