import { useEffect, useMemo, useState } from 'preact/hooks';
import { Grid } from '../cards';
import type { Catalogue } from '../catalogue';
import { Header } from '../header';

const SHOWN = 24;
const TURN_MS = 900;

export function Page({ catalogue }: { readonly catalogue: Catalogue; readonly value: string }) {
  const best = useMemo(() => catalogue.findBestSellers(SHOWN + 4), [catalogue]);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((before) => before + 1), TURN_MS);
    return () => clearInterval(timer);
  }, []);
  const offer = best[turn % 4]!;
  const rest = useMemo(() => best.slice(4), [best]);
  return (
    <>
      <Header catalogue={catalogue} />
      <a class="offer" href={`/product/${offer.id}`}>
        <h2>{offer.name}</h2>
        <p>{offer.discount} % off, this week only</p>
      </a>
      <Grid products={rest} />
    </>
  );
}
