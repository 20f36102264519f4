/** Days on which a parcel may arrive. */

const DAY_MS = 86_400_000;
const HOLIDAYS = ['01-01', '05-01', '12-25', '12-26'];

export interface Slot {
  readonly date: Date;
  readonly words: string;
}

/** Returns the next days of delivery for a postcode. */
export function listSlots(postcode: string, count: number): Slot[] {
  const slots: Slot[] = [];
  const region = postcode.length % 3;
  for (let day = 1 + region; slots.length < count; day += 1) {
    const date = new Date(Date.now() + day * DAY_MS);
    if (isWorkday(date)) {
      slots.push({ date, words: describeDay(date) });
    }
  }
  return slots;
}

function isWorkday(date: Date): boolean {
  return date.getDay() !== 0 && !HOLIDAYS.includes(date.toISOString().slice(5, 10));
}

function describeDay(date: Date): string {
  return date.toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });
}
