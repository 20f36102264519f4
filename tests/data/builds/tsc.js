export class Cart {
    size;
    items = [];
    static make = (n) => new Cart(n);
    constructor(size) {
        this.size = size;
        this.items = [...Array(size).keys()];
    }
    get total() { return this.items.reduce((sum, item) => sum + item, 0); }
    async load(url) { const r = await fetch(url); return r.status; }
    *walk() { for (const i of this.items)
        yield i; }
    #secret(a) { return a * 2; }
    twice(a) { return this.#secret(a); }
}
export function outer(rows) {
    const curried = (a) => (b) => a + b;
    const mapped = rows.map((row) => curried(row)(1));
    function inner(x) { return x > 1 ? inner(x - 1) : mapped.map(function (y) { return y * x; }); }
    return inner(3);
}
export const handlers = { onClick: () => outer([1]), onKey(e) { return e; }, "a-b": async (q) => q };
const later = async (p) => { await null; return p; };
let assigned;
assigned = function (z) { return z + 1; };
export default function main(m) { return later(m).then((v) => assigned(v)); }
setTimeout(() => main(1), 10);
(function iife() { console.log("iife"); })();
//# sourceMappingURL=src.js.map