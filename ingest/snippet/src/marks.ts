/** The page's own timings: what is kept of each entry, and which of them belong to a chunk. */

export interface Mark {
  readonly type: string;
  readonly start: number;
  readonly duration: number;
  [fact: string]: unknown;
}

type Entry = PerformanceEntry & Record<string, unknown>;

declare const BARE: boolean;

/** The entries that are watched, with the facts that are kept of each. */
const FACTS: Record<string, string> = BARE
  ? { longtask: '' }
  : {
    longtask: '',
    'long-animation-frame': 'blockingDuration renderStart styleAndLayoutStart firstUIEventTimestamp',
    paint: '',
    'largest-contentful-paint': 'size url',
    'layout-shift': 'value hadRecentInput',
    event: 'name interactionId processingStart processingEnd',
    mark: 'name',
    measure: 'name',
    'soft-navigation': '',
  };
/** The facts of a long frame's script, with the browser's names. */
const SCRIPT_FACTS: Record<string, string> = {
  start: 'startTime',
  duration: 'duration',
  url: 'sourceURL',
  function: 'sourceFunctionName',
  position: 'sourceCharPosition',
  forced: 'forcedStyleAndLayoutDuration',
  invoker: 'invoker',
  invokerType: 'invokerType',
};
/** Of one view: the scripts of long frames, and all marks. A page that sets a mark for each frame stays small. */
const MAX_SCRIPTS = 200;
const MAX_MARKS = 1e3;
const MAX_CHARS = 200;
/** In ms, of interactions. */
const INTERACTION_MS = 40;

let marks: Mark[] = [];
let scriptsLeft: number;
let marksLeft: number;
let observer: PerformanceObserver | undefined;
let onSoftNavigation: (start: number) => void;

/** Returns a text without query and fragment, and cut; other values as they are. */
function clean(value: unknown): unknown {
  return typeof value === 'string' ? value.split(/[?#]/)[0]!.slice(0, MAX_CHARS) : value;
}

function keep(entry: Entry): void {
  const { entryType, name, startTime: start, duration } = entry;
  const isEvent = entryType === 'event';
  if (!BARE && entryType === 'soft-navigation') {
    onSoftNavigation(start);
    return;
  }
  // "first-paint" says nothing that the contentful one does not. An event without an interaction is a mere movement.
  if (name === 'first-paint' || (isEvent && !entry.interactionId) || marksLeft < 1) {
    return;
  }
  marksLeft--;
  const mark: Mark = { type: isEvent ? 'interaction' : entryType === 'paint' ? name : entryType, start, duration };
  if (!BARE) {
    for (const fact of FACTS[entryType]!.split(' ')) {
      mark[fact] = clean(entry[fact]);
    }
    const element = (entry.target || entry.element) as Element | undefined;
    mark.target = element && element.localName + (element.id && `#${element.id}`);
    mark.scripts = entry.scripts && (entry.scripts as Entry[]).filter(() => scriptsLeft-- > 0).map((script) => {
      const facts: Record<string, unknown> = {};
      for (const fact in SCRIPT_FACTS) {
        facts[fact] = clean(script[SCRIPT_FACTS[fact]!]);
      }
      return facts;
    });
  }
  if (marks.push(mark) > MAX_MARKS) {
    marks.shift(); // of a view that nobody records
  }
}

/** Begins a view: its bounds are its own. */
export function resetMarks(): void {
  scriptsLeft = MAX_SCRIPTS;
  marksLeft = MAX_MARKS;
}

/** Watches from now on, with what the browser still knows of before. `heard` gets the starts of soft navigations. */
export function watchMarks(heard: (start: number) => void): void {
  if (observer) {
    return;
  }
  onSoftNavigation = heard;
  observer = new PerformanceObserver((list) => (list.getEntries() as Entry[]).forEach(keep));
  for (const type in FACTS) {
    // Chromium warns in the console of a type that it does not know.
    if (PerformanceObserver.supportedEntryTypes.includes(type)) {
      observer.observe({ type, buffered: true, durationThreshold: INTERACTION_MS } as PerformanceObserverInit);
    }
  }
}

/** Returns the marks that began before `end` and did not end before `start`, ms. Those that go on are kept too. */
export function takeMarks(start: number, end: number): Mark[] {
  (observer!.takeRecords() as Entry[]).forEach(keep);
  const taken = marks.filter((mark) => mark.start < end && mark.start + mark.duration >= start);
  marks = marks.filter((mark) => mark.start + mark.duration >= end);
  return taken;
}
