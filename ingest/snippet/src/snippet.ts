/**
 * Samples one page view from its load on and posts one trace. Nothing here may ever break or delay the page: without
 * the API, without the Document-Policy header or after any error it does nothing; with `data-debug` it logs why.
 */

import { post } from './post';
import type { Profiler, ProfilerTrace } from './profiler';
import { readSettings, type Settings } from './settings';
import { newViewId, watchLongTasks, type Mark } from './view';

type Reason = 'timer' | 'buffer-full' | 'pagehide';

interface Recording {
  readonly settings: Settings;
  readonly sampleInterval: number;
  readonly url: string;
  readonly viewId: string;
}

/** Returns the envelope of the ingest contract as JSON, without undefined fields. */
function writeEnvelope(recording: Recording, reason: Reason, marks: readonly Mark[], trace: ProfilerTrace): string {
  const { settings, sampleInterval, url, viewId } = recording;
  const { timeOrigin } = performance;
  return JSON.stringify({
    viewId,
    seq: 0,
    release: settings.release,
    page: settings.page,
    url,
    timeOrigin,
    viewStart: timeOrigin,
    sampleInterval,
    requestedInterval: settings.intervalMs,
    sampleRate: settings.sampleRate,
    reason,
    isolated: crossOriginIsolated,
    device: {
      memory: navigator.deviceMemory,
      cores: navigator.hardwareConcurrency,
      mobile: navigator.userAgentData && navigator.userAgentData.mobile,
    },
    marks,
    trace,
  });
}

/** Lets a page show the result for its trace: `status` is that of the answer, 0 without one. */
function tell(viewId: string, status: number): void {
  dispatchEvent(new CustomEvent('fieldflame:sent', { detail: { viewId, status } }));
}

function record(profiler: Profiler, settings: Settings): void {
  const endWatch = watchLongTasks();
  const recording: Recording = {
    settings,
    sampleInterval: profiler.sampleInterval,
    url: location.href, // now: a single-page app may have moved on by the end
    viewId: newViewId(),
  };
  const finish = (reason: Reason): void => {
    if (profiler.stopped) {
      return;
    }
    profiler.stop().then((trace) => {
      const body = writeEnvelope(recording, reason, endWatch(), trace);
      post(settings.endpoint, body, (status) => tell(recording.viewId, status));
    }).catch(() => {}); // an unhandled rejection would show up in the page's own error reports
  };
  setTimeout(finish, settings.durationMs, 'timer');
  profiler.addEventListener('samplebufferfull', () => finish('buffer-full'));
  addEventListener('pagehide', () => finish('pagehide'));
}

/** Starts a trace if this page view is chosen for one; throws an Error that says why there can be none. */
function start(script: HTMLScriptElement): void {
  const settings = readSettings(script);
  if (!(Math.random() < settings.sampleRate)) {
    throw new Error('this page view was not drawn');
  }
  if (!window.Profiler) {
    throw new Error('this browser has no Profiler');
  }
  const { intervalMs, bufferSamples } = settings;
  record(new window.Profiler({ sampleInterval: intervalMs, maxBufferSize: bufferSamples }), settings);
}

const script = document.currentScript as HTMLScriptElement | null; // null in a module: the attributes are out of reach
try {
  if (script) {
    start(script);
  }
} catch (error) {
  if (script && 'debug' in script.dataset) {
    console.info(`fieldflame: no trace, ${error}`);
  }
}
