import { useMemo, useState } from 'preact/hooks';
import { reportPurchase } from '../analytics';
import { readCart, sumUp } from '../cart';
import type { Catalogue } from '../catalogue';
import { listSlots } from '../checkout/delivery';
import { type Field, type Form, validateForm } from '../checkout/validation';
import { Header } from '../header';
import { formatPrice, priceOf } from '../prices';

const SLOTS = 24;
const FIELDS: readonly (readonly [Field, string])[] = [
  ['name', 'Name'],
  ['email', 'E-mail'],
  ['street', 'Street'],
  ['postcode', 'Postcode'],
  ['card', 'Card'],
];

export function Page({ catalogue }: { readonly catalogue: Catalogue; readonly value: string }) {
  const [form, setForm] = useState<Form>({ name: '', email: '', street: '', postcode: '', card: '' });
  const [isBought, setBought] = useState(false);
  const lines = readCart();
  const totals = sumUp(lines, catalogue);
  const errors = validateForm(form);
  const slots = useMemo(() => listSlots(form.postcode, SLOTS), [form.postcode]);
  const buy = (): void => {
    setBought(true);
    reportPurchase(totals.all);
  };
  return (
    <>
      <Header catalogue={catalogue} />
      <h1>Checkout</h1>
      <ul class="lines">
        {lines.map((line) => {
          const product = catalogue.find(line.id);
          return <li key={line.id}>{line.count} × {product.name}: {formatPrice(priceOf(product) * line.count)}</li>;
        })}
      </ul>
      <p>Shipping {formatPrice(totals.shipping)}, of which tax {formatPrice(totals.tax)}</p>
      <p class="price">{formatPrice(totals.all)}</p>
      <form onSubmit={(event) => event.preventDefault()}>
        {FIELDS.map(([field, label]) => (
          <label key={field}>
            {label}
            <input
              id={field}
              value={form[field]}
              onInput={(event) => setForm({ ...form, [field]: event.currentTarget.value })}
            />
            <span class="error">{form[field] && errors[field]}</span>
          </label>
        ))}
        <select id="slot">{slots.map((slot) => <option key={slot.words}>{slot.words}</option>)}</select>
        <button id="buy" onClick={buy}>{isBought ? 'Thank you' : 'Buy'}</button>
      </form>
    </>
  );
}
