"""A file as a formatter writes it, and costs of functions in it."""

from fieldflame.lsp.costs import Cost

FILE = """\
import { sum } from './sum';

export function render(rows: Row[]): Cell[] {
  const all = rows.map((row) => row.cells);
  return all.flat();
}

class Cart {
  #total = 0;
  add(item: Item): void {
    this.#total += item.price;
  }
  static async load(id: string): Promise<Cart> {
    return render(await fetch(id));
  }
}

const describe = async (cart: Cart): Promise<string> => sum(cart);
const handlers = {
  onClick: function (event) { describe(event); },
  'onKey': (event) => describe(event),
};
"""
LINES = FILE.splitlines()


def make_cost(name: str | None, line: int, function_id: str = "1") -> Cost:
    return Cost(
        id=function_id,
        name=name,
        line=line,
        ms_per_view=5.0,
        ci95=(4.0, 6.0),
        views_share=0.4,
        p75_ms=7.0,
        delta_ms=None,
    )
