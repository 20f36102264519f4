/** Checks of what people type into the checkout form, at every key. */

export interface Form {
  readonly name: string;
  readonly email: string;
  readonly street: string;
  readonly postcode: string;
  readonly card: string;
}

export type Field = keyof Form;
export type Errors = Partial<Record<Field, string>>;

const RULES: Record<Field, readonly (readonly [(value: string) => boolean, string])[]> = {
  name: [[(value) => value.trim().length > 1, 'Your name, please.']],
  email: [[(value) => /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$/.test(value), 'This is not an e-mail address.']],
  street: [
    [(value) => value.trim().length > 3, 'Street and number, please.'],
    [(value) => /\d/.test(value), 'The number of the house is missing.'],
  ],
  postcode: [[(value) => /^[A-Z0-9 -]{4,10}$/i.test(value), 'This is not a postcode.']],
  card: [[isCardNumber, 'Please check the number of the card.']],
};

export function validateForm(form: Form): Errors {
  const errors: Errors = {};
  for (const [field, rules] of Object.entries(RULES) as [Field, (typeof RULES)[Field]][]) {
    const broken = rules.find(([isRight]) => !isRight(form[field]));
    if (broken) {
      errors[field] = broken[1];
    }
  }
  return errors;
}

/** Tells whether the digits of a card's number add up (Luhn). */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '');
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return digits.length > 11 && sum % 10 === 0;
}
