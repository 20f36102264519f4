/**
 * The inline stub, first in the head: constructs the profiler before the page's own scripts run. The core comes later
 * and takes it over, with the calls that were made meanwhile.
 */

import type { Api, Call } from './profiler';

if (!window.fieldflame) {
  const stub: Api = (...words) => {
    stub.q!.push(words);
  };
  const queue: Call[] = [];
  stub.q = queue;
  window.fieldflame = stub;
  try {
    // Where the page's server announced that it did not send the header, the constructor would only throw.
    // No JSON is made here: a page's `toJSON` may spoil it.
    const [load] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
    const isOff = load && (load.serverTiming || []).some(
      ({ name, description }) => name === 'ff' && /\bon=0/.test(description),
    );
    if (!document.prerendering && !isOff) {
      stub.p = new window.Profiler!({ sampleInterval: 10, maxBufferSize: 1e4 });
    }
  } catch (error) {
    stub.e = error;
  }
}
