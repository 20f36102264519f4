/** The full core: tells how soon a page was there, with the header and without, so that its cost can be measured. */

import { counted } from './cost';
import { endpoint, header, load, numberOf } from './page';
import { on } from './recorder';

/** In ms, of interactions: the least that a browser tells of. */
const INTERACTION_MS = 16;

/** Sends TTFB, FCP, LCP and INP once, as the page is hidden first. No id, no page, no date. */
export const compareHeader = (): void => {
  // A page that was prerendered, or opened in the background, has other times.
  if (/^[01]$/.test(header.on!) && Math.random() < numberOf('experiment', 0) && !document.hidden && load && !load.activationStart) {
    const facts: Record<string, unknown> = { on: header.on, ttfb: load.responseStart };
    const watch = (type: string, read: (entry: any) => void): void => {
      new PerformanceObserver(counted((list: PerformanceObserverEntryList) => list.getEntries().forEach(read)))
        .observe({ type, buffered: true, durationThreshold: INTERACTION_MS } as PerformanceObserverInit);
    };
    watch('paint', ({ name, startTime }) => {
      if (name[6] === 'c') { // of two names, `first-contentful-paint`
        facts.fcp = startTime;
      }
    });
    watch('largest-contentful-paint', ({ startTime }) => {
      facts.lcp = startTime;
    });
    watch('event', ({ interactionId, duration }) => {
      if (interactionId) {
        facts.inp = Math.max(duration, (facts.inp as number) || 0);
      }
    });
    let isSent = false;
    const send = (): void => {
      if (document.hidden && !isSent) {
        isSent = true;
        const address = endpoint.replace(/traces\/?\?/, 'loads?') + '&' + new URLSearchParams(facts as Record<string, string>);
        fetch(address, { credentials: 'omit', keepalive: true }).catch(() => {});
      }
    };
    on('visibilitychange', send);
  }
};
