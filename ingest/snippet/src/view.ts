/** The page view that this script runs in: its id, and its long tasks. */

export interface Mark {
  readonly type: 'longtask';
  readonly start: number;
  readonly duration: number;
}

/** Returns a random (version 4) UUID. `crypto.randomUUID` is missing on pages that came over plain http. */
export function newViewId(): string {
  if (crypto.randomUUID) {
    return crypto.randomUUID();
  }
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), '4' + hex.slice(13, 16), 'a' + hex.slice(17, 20), hex.slice(20)].join('-');
}

/**
 * Watches long tasks, also those before this call, and returns a function that ends the watch and returns them all.
 * The browser drops the stack of much work (garbage collection, layout, allocation); only the long task around such
 * samples distinguishes them from idle ones.
 */
export function watchLongTasks(): () => readonly Mark[] {
  const marks: Mark[] = [];
  const keep = (entries: PerformanceEntryList): void => {
    for (const { startTime, duration } of entries) {
      marks.push({ type: 'longtask', start: startTime, duration });
    }
  };
  const observer = new PerformanceObserver((list) => keep(list.getEntries()));
  observer.observe({ type: 'longtask', buffered: true });
  return () => {
    keep(observer.takeRecords());
    observer.disconnect();
    return marks;
  };
}
