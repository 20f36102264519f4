export class Cart {
  items: number[] = [];
  static make = (n: number) => new Cart(n);
  constructor(public size: number) { this.items = [...Array(size).keys()]; }
  get total(): number { return this.items.reduce((sum, item) => sum + item, 0); }
  async load(url: string): Promise<number> { const r = await fetch(url); return r.status; }
  *walk() { for (const i of this.items) yield i; }
  #secret(a: number) { return a * 2; }
  twice(a: number) { return this.#secret(a); }
}
export function outer(rows: number[]) {
  const curried = (a: number) => (b: number) => a + b;
  const mapped = rows.map((row) => curried(row)(1));
  function inner(x: number) { return x > 1 ? inner(x - 1) : mapped.map(function (y) { return y * x; }); }
  return inner(3);
}
export const handlers = { onClick: () => outer([1]), onKey(e: number) { return e; }, "a-b": async (q: number) => q };
const later = async (p: number) => { await null; return p; };
let assigned: any; assigned = function (z: number) { return z + 1; };
export default function main(m: number) { return later(m).then((v) => assigned(v)); }
setTimeout(() => main(1), 10);
(function iife() { console.log("iife"); })();
