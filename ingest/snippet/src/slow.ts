/** The full core: of most views only what ran around slow moments is sent. Chunks wait in memory until they are known. */

import { add } from './delivery';
import type { Mark } from './marks';
import { now, numberOf } from './page';

/** Of the recorded views that are kept whole all the same: a mean needs them. */
const WHOLE = 0.1;
/** Worse is not good, by web.dev's thresholds of INP and LCP; the server has the same. */
const SLOW_MS = 200;
const SLOW_LCP_MS = 2500;
/** What ran so long before a slow moment is sent with it. */
const BEFORE_MS = 1e3;
/** Chunks that wait: of 16 to 48 s. A browser tells of a slow moment when it is over. */
const MAX_HELD = 6;

interface Held {
  readonly viewId_: string;
  readonly envelope_: object;
  readonly start_: number;
  readonly end_: number;
}

let held: Held[] = [];

/** Draws whether a view of such that are recorded at `rate` is kept whole, and returns what its envelopes say of it. */
export const drawWhole = (rate: number): { sampleRate: number; slowRate: number; onlySlow: boolean } => {
  const whole = numberOf('whole', WHOLE);
  const onlySlow = Math.random() >= whole; // a literal would become a number
  return { sampleRate: onlySlow ? rate : rate * whole, slowRate: rate, onlySlow };
};

/** Returns when what made a mark slow began, ms; undefined if it is not. `start` is the view's. */
const slowFrom = ({ type, name, start, duration }: Mark, since: number): number | undefined =>
  type === 'largest-contentful-paint'
    ? start - since > SLOW_LCP_MS ? since : undefined
    // Long tasks, long frames and interactions; and what the page marks so.
    : (duration > SLOW_MS && /^[il]/.test(type)) || name === 'error' ? start - BEFORE_MS : undefined;

/** Keeps a chunk from `start` until now, of a view from `since` on, ms; sends those that one of `marks` makes slow. */
export const keepSlow = (viewId: string, envelope: object, start: number, since: number, marks: Mark[], isDue: boolean): void => {
  held.push({ viewId_: viewId, envelope_: envelope, start_: start, end_: now() });
  for (const mark of marks) {
    const from = slowFrom(mark, since);
    held = held.filter((chunk) => {
      const isWanted = chunk.end_ >= from! && chunk.start_ <= mark.start + mark.duration;
      if (isWanted) {
        add({ viewId_: chunk.viewId_, tries_: 0, line_: JSON.stringify(chunk.envelope_) }, isDue);
      }
      return !isWanted;
    });
  }
  held = held.slice(-MAX_HELD);
};
