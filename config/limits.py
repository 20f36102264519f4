"""Every limit of Fieldflame, with the reason for its number. `config.settings` takes them all.

Those that are read from the environment are for operators: `docs/settings.md` lists them. The others are constants.
"""

from config.env import read_bool, read_int, read_networks, read_ports, read_str, read_viewers

# --- The endpoint: limits (each with its reason) --------------------------------------------------------------------------
INGEST_MAX_BODY_BYTES = read_int("FIELDFLAME_MAX_BODY_BYTES", 5 * 2**20)  # contract; p95 of a recorded trace is 52 kB
INGEST_MAX_EXPANDED_BYTES = read_int("FIELDFLAME_MAX_EXPANDED_BYTES", 50 * 2**20)  # contract; ten times the body
INGEST_MAX_ENVELOPES = 100  # contract
# Shape limits: about ten times the largest trace ever recorded (3,829 samples, 12,230 stacks, 462 kB in 3 s).
INGEST_MAX_SAMPLES = 200_000  # 33 minutes at 10 ms
INGEST_MAX_STACKS = 200_000
INGEST_MAX_FRAMES = 50_000
INGEST_MAX_RESOURCES = 10_000
INGEST_MAX_DEPTH = 10_000  # Chromium cuts at 255; other sources may not
INGEST_MAX_NAME_CHARS = 4_096  # Chromium cuts at 1,024
INGEST_MAX_URI_CHARS = 65_536  # a data: resource can hold a whole script
INGEST_MAX_TEXT_CHARS = 200  # release, tags
# release and page are one B-tree key: 600 characters of 4 bytes stay under its 2,704 bytes
INGEST_MAX_PAGE_CHARS = 400
INGEST_MAX_MARKS = 10_000
INGEST_MAX_TAGS = 20  # contract
# JSON values of one envelope, by its commas: all tables at their limits have 1.3 million. Each takes up to 100 bytes.
INGEST_MAX_VALUES = 2_000_000
INGEST_MAX_TIMESTAMP_MS = 30 * 86_400_000  # a tab open for a month
# Release × page of a project. More is a broken route rule, or made up: it counts as "(other)".
INGEST_MAX_GROUPS = read_int("FIELDFLAME_MAX_GROUPS", 20_000)
# In an hour: a new release meets some hundred pages in its first one. Made-up ones need ten hours to fill a project.
INGEST_MAX_NEW_GROUPS = 2_000
# Pages of an announced release that have room in a full project too: a site of a thousand routes is a large one.
INGEST_ANNOUNCED_PAGES = 1_000
MAX_ANNOUNCED_RELEASES = 10_000  # of a project: 25 a day for 400 days
INGEST_MAX_PENDING = read_int("FIELDFLAME_MAX_PENDING", 2_000_000)  # pending traces of one project before 429
# Of a project's pending traces, expanded: eleven hours of ten traces a second. Packed they take about a fifth of it.
INGEST_MAX_PENDING_BYTES = read_int("FIELDFLAME_MAX_PENDING_BYTES", 20 * 2**30, low=1)
INGEST_MAX_TOTAL_PENDING_BYTES = read_int("FIELDFLAME_MAX_TOTAL_PENDING_BYTES", 60 * 2**30, low=1)  # of all projects
# A queue that is a day old will not be folded soon: what comes now would only fill the disk.
INGEST_MAX_PENDING_AGE_S = 86_400
INGEST_MIN_FREE_BYTES = read_int("FIELDFLAME_MIN_FREE_BYTES", 2**30, low=0)  # PostgreSQL stops when its disk is full
INGEST_DATABASE_WAIT_MS = read_int("FIELDFLAME_DATABASE_WAIT_MS", 1_700, low=1)  # of a post, in all
# Posts of a project that arrive while others are stored share the next statement, up to this many traces and packed bytes.
# That is one full batch, and as much as a pause of 20 ms lets 64 threads receive.
INGEST_TOGETHER_TRACES = 200
INGEST_TOGETHER_BYTES = 4 * 2**20
# Connections of a web process for such statements. A project uses one at a time, and another if the first one waits.
INGEST_STORE_CONNECTIONS = read_int("FIELDFLAME_STORE_CONNECTIONS", 4, low=1)
# Bodies in an object store. A request of a post takes 10 to 100 ms; the slowest of a thousand a second or so.
OBJECTS_WAIT_MS = 2_000
# Posts of a project that arrive within this time share an object: at 50 a second, five instead of one, and writing them
# costs a fifth. A page is not kept waiting by its post. 0 where writing costs nothing.
OBJECTS_GATHER_MS = read_int("FIELDFLAME_OBJECTS_GATHER_MS", 100, high=2_000)
OBJECTS_AT_ONCE = 32  # being written by a web process: half its threads
OBJECTS_READS_AT_ONCE = 8  # by a process: a batch is in many
PACK_SWEEP_S = 60  # until erased bytes leave the object store
# Traces a second of a project, in one web process, before 429.
INGEST_RATE_PER_S = read_int("FIELDFLAME_RATE_PER_S", 2_000, low=1)
# Reports a second of pages that record nothing, for a project in one web process: one of a hundred views sends one.
INGEST_ABSENT_RATE_PER_S = 100
# Rows of a project and UTC day that count them (page × browser × reason): a site of 500 routes has about a thousand.
INGEST_MAX_ABSENT_ROWS = 2_000
# Posts a second with browsers' own reports, for a project in one web process: a browser sends one after a page hung.
INGEST_REPORTS_RATE_PER_S = 10
# Rows of a project and UTC day that count them (release × page × stack), of up to 10 kB: 5 MB a day at most.
INGEST_MAX_HANG_ROWS = 500
INGEST_LARGE_BODY_BYTES = 4 * 2**20  # expanded; larger ones decode one at a time
VIEW_START_MAX_AGE_DAYS = 7  # older starts are clamped

# --- Imports: bounds for files that a person imports ---------------------------------------------------------------------
IMPORT_MAX_FILE_BYTES = read_int(
    "FIELDFLAME_IMPORT_MAX_FILE_BYTES", 50 * 2**20
)  # ten times a post, since a person sends it
# One profile, unpacked: DevTools' recordings of half a minute have 50 to 100 MB; reading 94 MB took 340 MB.
IMPORT_MAX_INPUT_BYTES = 100 * 2**20
# All bytes unpacked from a file's containers; and, counted separately, all envelopes made from it.
IMPORT_MAX_EXPANDED_BYTES = 400 * 2**20
IMPORT_MAX_NESTING = 4  # a zip of .json.gz with arrays of lines has three
IMPORT_MAX_MEMBERS = 10_000  # inputs of a file: all are one transaction
IMPORT_MAX_TRACES = 10_000  # traces of a file, 5 kB each in memory, packed
# Of all traces of a file: a profile of 142 bytes became 200,000 samples. Ten million take 7 s of processor time.
IMPORT_MAX_SAMPLES = 10_000_000
# JSON values of one profile, by its commas and brackets; up to 100 bytes each.
IMPORT_MAX_VALUES = 4_000_000

# --- The fold ---------------------------------------------------------------------------------------------------------
FOLD_BATCH_TRACES = read_int("FIELDFLAME_FOLD_BATCH_TRACES", 400, low=1)
FOLD_BATCH_BYTES = 8 * 2**20  # expanded; keeps a worker under 300 MB; 400 recorded traces have as many
# New funcs of a project in a UTC day, then "(other)": ten releases of a large site, each with 10,000 new ones that run.
FOLD_MAX_NEW_FUNCS = 100_000
FOLD_BATCH_CPU_S = 2  # then its rest waits: 400 recorded traces take 0.4 s
# After a small batch, a process lets its project linger for this long, so that traces gather. Batches of 10 heavy traces
# take 2.4 times as much of the server's processor per trace as batches of 41, and write a third more to its log.
FOLD_LINGER_MS = 600
FOLD_LEASE_S = 120  # a claim is trusted for this long while its worker beats
# A worker that the database has not heard for this long is taken for dead, and others take over its claims: six heartbeats.
# Others of its own machine see its end at once. One that was only stopped writes nothing of what it has lost.
CLAIM_SILENCE_S = 30
# A transaction that holds others back, and from which nothing has come for this long, is ended by PostgreSQL: its host was
# cut off. Between two statements of such a transaction, a process works for some seconds at most.
IDLE_TRANSACTION_S = 60
FOLD_TURN_S = read_int("FIELDFLAME_FOLD_TURN_S", 5)  # of folding, and of maintenance; then other tasks have their turn
FOLD_SWEEP_S = read_int("FIELDFLAME_FOLD_SWEEP_S", 5, low=1)
FOLD_ALONE_CRASHES = 3  # crashes alone before a trace is rejected
FOLD_ALONE_TIMEOUT_S = read_int("FIELDFLAME_FOLD_ALONE_TIMEOUT_S", 60, low=1)
FOLD_ALONE_MEMORY_BYTES = read_int("FIELDFLAME_FOLD_ALONE_MEMORY_BYTES", 2 * 2**30)
CALLTREE_MAX_PIECES = 8  # blobs of one cell's call tree before the newest are merged
HOTSPOT_MAX_PIECES = (
    4  # of one cell's hotspots: each takes a read as long as the first, and twice as many save 1 % of log
)

# --- After the fold: merge, retention, quotas -------------------------------------------------------------------------
MERGE_AFTER_HOURS = read_int(
    "FIELDFLAME_MERGE_AFTER_HOURS", 48, low=1
)  # two days by the hour; then a 24th of the cells
# Hours after an hour's start: nearly all of its traces have arrived, and later ones are also written to the roll-up.
ROLL_UP_AFTER_HOURS = read_int("FIELDFLAME_ROLL_UP_AFTER_HOURS", 2, low=1)
KEEP_RAW_DAYS = read_int("FIELDFLAME_KEEP_RAW_DAYS", 30, low=1)  # the bulk of the disk; refold and drill-down need it
KEEP_VIEWS_DAYS = read_int("FIELDFLAME_KEEP_VIEWS_DAYS", 90, low=1)  # statistics need them: about 500 bytes per view
KEEP_CELLS_DAYS = read_int("FIELDFLAME_KEEP_CELLS_DAYS", 400, low=1)  # a year and a month, to compare with last year
# The memory in which `export_cells` sorts a day, beyond which it uses the disk; DuckDB itself takes about 100 MB more.
HISTORY_MEMORY_BYTES = read_int("FIELDFLAME_HISTORY_MEMORY_BYTES", 256 * 1024 * 1024, low=64 * 1024 * 1024)
# A trace that is sent again within this time changes nothing. Browsers send again for minutes, people import a file
# again after weeks; as long as views, whose traces are listed by their receipts. 181 bytes per trace and its day.
KEEP_RECEIPTS_DAYS = read_int("FIELDFLAME_KEEP_RECEIPTS_DAYS", 90, low=1)
# The log of administration: two yearly reviews. An entry keeps the days of when it was written.
KEEP_AUDIT_DAYS = read_int("FIELDFLAME_KEEP_AUDIT_DAYS", 730, low=1)
# Of a new API token; 0: it may live until it is revoked. Old tokens keep their end.
TOKEN_MAX_DAYS = read_int("FIELDFLAME_TOKEN_MAX_DAYS", 0, high=36_500)
# Before the last step of deleting a project: web processes cache its keys for 10 s, and a slow post may be under way.
DELETE_GRACE_S = 60
DELETE_SWEEP_S = 30  # deletions are rare; a lost notification or a killed worker delays one by this much
KEEP_REFOLD_RUNS_DAYS = 30  # the list of refolds; a killed one may continue for this long, and delays merges
INGEST_MAX_TRACES_PER_DAY = read_int("FIELDFLAME_MAX_TRACES_PER_DAY", 0)  # of a project, by UTC day; 0 is no quota
# Of a project's raw traces, as stored: 50 recorded traces a second take about 15 GB a day. A stranger fills no disk.
INGEST_MAX_MB_PER_DAY = read_int("FIELDFLAME_MAX_MB_PER_DAY", 20_000)  # received in a UTC day; 0 is no quota
INGEST_MAX_KEPT_MB = read_int("FIELDFLAME_MAX_KEPT_MB", 200_000)  # within the retention of raw traces; 0 is no quota
# Who hosts projects of others may not want their admins to keep more, or to send more.
LIMITS_ARE_CEILINGS = read_bool("FIELDFLAME_LIMITS_ARE_CEILINGS", False)

# --- Jobs: answers that are too large for a request, prepared in the background ---------------------------------------
# Raw traces between two checks of progress and cancellation: about 100 ms for recorded ones. Also the number loaded at
# once, with FOLD_BATCH_BYTES.
JOB_BATCH_TRACES = read_int("FIELDFLAME_JOB_BATCH_TRACES", 200, low=1)
JOB_PAGE_VIEWS = 2_000  # views loaded at once: about 20 MB with their contributions decoded
# Call nodes of a tree merged from raw traces or cells: about 300 bytes each, and as much again to write a format: 300 MB.
# Of cells also while a client waits: a million made-up paths and their names took 800 MB and 15 s.
JOB_MAX_NODES = 300_000
# Functions that a job over vitals or raw traces meets: up to 2.5 kB each. Ten releases of a large app, each built anew, have 200,000.
# Also of a slice that is searched or grouped: a million made-up ones took 1.6 GB and 25 s.
JOB_MAX_FUNCS = 300_000
# As READ_TRACE_MAX_BYTES and the next two: a worker's process may take 300 MB for one job, and more for a hostile view.
JOB_TRACE_MAX_BYTES = 24 * 2**20
JOB_MAX_SAMPLES = 600_000
JOB_MAX_FACTS = 400_000
JOB_ATTEMPTS = 5  # starts of a job: workers may be restarted, but a job that kills them must end
JOB_LEASE_S = 300  # renewed after each batch and each piece of the result
JOB_SWEEP_S = read_int("FIELDFLAME_JOB_SWEEP_S", 5, low=1)
JOBS_AT_ONCE = read_int("FIELDFLAME_JOBS_AT_ONCE", 1, low=1)  # of all workers together; the others continue to fold
JOBS_MAX_UNFINISHED = 10  # of a project, before 429
JOB_PIECE_BYTES = 2**20  # of a stored result, packed: the size of a row, and of what a web thread holds
JOB_MAX_RESULT_BYTES = 256 * 2**20  # packed; beyond it the job fails
JOBS_MAX_KEPT_BYTES = 2**30  # results a project keeps, before 429
JOB_KEEP_HOURS = 24  # for a result, which can be prepared again

# --- The demo ---------------------------------------------------------------------------------------------------------
DEMO_VIEWS = read_int("FIELDFLAME_DEMO_VIEWS", 3_000, low=1)  # a month that shows each change; loaded in half a minute

# --- Source maps: uploads, and the labels they give ------------------------------------------------------------------
# A bundle or map; maps of 14 MB are common, of 50 MB rare. The worst of 100 MB takes 2.6 GB, in a process of its own.
SOURCE_MAP_MAX_FILE_BYTES = read_int("FIELDFLAME_SOURCE_MAP_MAX_FILE_BYTES", 128 * 2**20)
SOURCE_MAP_MAX_UPLOAD_BYTES = read_int("FIELDFLAME_SOURCE_MAP_MAX_UPLOAD_BYTES", 256 * 2**20)  # one post, as sent
SOURCE_MAP_MAX_EXPANDED_BYTES = 2**30  # all files of an archive
SOURCE_MAP_MAX_FILES = 20_000  # of an archive, of any kind
SOURCE_MAPS_MAX_KEPT_BYTES = read_int("FIELDFLAME_SOURCE_MAPS_MAX_KEPT_BYTES", 10 * 2**30)  # of a project, packed
SOURCE_MAP_CHECK_HERE_BYTES = 4 * 2**20  # larger maps are checked in a process of their own: ten times that in memory
KEEP_SOURCE_MAPS_DAYS = read_int(
    "FIELDFLAME_KEEP_SOURCE_MAPS_DAYS", 30, low=1
)  # after the upload, if a release has no data (any more)
# One map in its own process. 20,000 funcs of a 14 MB map take about 10 s; the memory is that of the largest map.
SYMBOLICATE_TIMEOUT_S = 120
SYMBOLICATE_MEMORY_BYTES = read_int("FIELDFLAME_SYMBOLICATE_MEMORY_BYTES", 3 * 2**30)
SYMBOLICATE_BATCH_FUNCS = 20_000  # labels of one transaction: about 2 s, and 10 MB in a worker
SYMBOLICATE_ATTEMPTS = 3  # crashes of its process before a map is marked failed
SYMBOLICATE_TURN_S = 5  # seconds of labelling before waiting folds get their turn
SYMBOLICATE_AT_ONCE = 1  # maps of all workers: others go on folding
SYMBOLICATE_SWEEP_S = read_int("FIELDFLAME_SYMBOLICATE_SWEEP_S", 10, low=1)

# --- The doctor: visits of live pages ----------------------------------------------------------------------------------
# A visit asks what someone else names, so it goes to public addresses on the ports of the web only.
DOCTOR_PORTS = read_ports("FIELDFLAME_DOCTOR_PORTS", [80, 443])
DOCTOR_ALLOW_PRIVATE = read_networks("FIELDFLAME_DOCTOR_ALLOW_PRIVATE")
DOCTOR_TIME_S = 20  # a web thread waits this long; slow pages take a few
DOCTOR_MAX_PAGE_BYTES = 2 * 2**20  # HTML of 1 MB is rare
DOCTOR_MAX_SCRIPT_BYTES = 2**20  # if a server sends more than its end
DOCTOR_MAX_SCRIPTS = 30  # nine of ten pages have fewer files
DOCTOR_PER_HOUR = 30  # of a user, in a web process: this server asks others
DOCTOR_AT_ONCE = 2  # in a web process: each has a process of its own

# --- Alerts, and messages about them ----------------------------------------------------------------------
# Between two evaluations of an alert. A look takes a quarter more views, so a busy site has its first ones within an hour.
ALERTS_EVERY_S = 300
ALERTS_SWEEP_S = 30  # between two looks for what is due, or has to be sent
ALERTS_RELEASES = read_int(
    "FIELDFLAME_ALERTS_RELEASES", 3, low=1
)  # newest ones that are watched: two roll-outs overlap
ALERTS_RELEASE_DAYS = 28  # for this long: two plans of looks
ALERTS_MAX_RULES = 50  # of a project: each takes some statements
ALERTS_MAX_CHANNELS = 20  # of a project: each gets each message
# Views of a day whose raw traces a budget on interactions or forced layout reads: about 1 s, and some hundred of them
# have an interaction. Their 75th percentile is then known to about a tenth of the views. Traces and bytes are bounded as
# for `vitals`.
ALERTS_TRACE_VIEWS = 400
# Changes of states that a project keeps, the newest: a release of 40 pages makes some hundred.
ALERTS_MAX_CHANGES = 20_000
ALERTS_DIGEST_HOURS = 24  # in which a digest gathers a release's changes
ALERTS_SEND_S = 10  # for a whole attempt: a worker waits meanwhile
# For a mail as a whole. A mail server may ask others about each address, which takes seconds, and there are up to 20.
ALERTS_MAIL_S = 120
# Messages that people ask for, tests and replays, of a project: they go to other people, 20 with one mail.
ALERTS_ASKED_PER_HOUR = 20
ALERTS_ASKED_PER_DAY = 60
ALERTS_TRIES = 12  # of a message: with back-off they last about half a day
KEEP_MESSAGES_DAYS = read_int("FIELDFLAME_KEEP_MESSAGES_DAYS", 90, low=1)  # the log of deliveries: a quarter
# Webhooks go to addresses that admins of projects name: to public ones only, or within these networks too.
WEBHOOK_PORTS = read_ports("FIELDFLAME_WEBHOOK_PORTS", [80, 443, 8080, 8443])
WEBHOOK_ALLOW_PRIVATE = read_networks("FIELDFLAME_WEBHOOK_ALLOW_PRIVATE")

# --- Reading ----------------------------------------------------------------------------------------------------------
# Views whose contributions statistics look at: all of a slice up to this many, else a uniform sample. A comparison of
# twice as many should take less than half a second. Intervals narrow with the square root of the number.
STATISTICS_MAX_VIEWS = 2_000
# The same for a comparison by one tag: of each view one raw trace is read, 0.24 ms each.
STRATIFY_MAX_VIEWS = 1_000
# The same for intervals and percentiles in a table of functions. Means are of all views anyway. The sample shows how much
# views differ, and a thousand are read in the time that the table itself takes. With fewer than 400, intervals around
# exact means of skewed times cover less than 93 % (docs/statistics.md).
TABLE_STATISTICS_MAX_VIEWS = 1_000
# Views whose own times (no contributions) are read: for the intervals of all points of a trend, and per side for the
# sentence on the last release. 24,000 take about 0.1 s, 2,000 per side 0.03 s (2026-11-21). A point of a trend uses 400
# views, and at least 200.
TREND_MAX_VIEWS = 24_000
CHANGE_MAX_VIEWS = 2_000
# Functions of both sides that a comparison names, up to 4 kB each; the others count as one. Two releases of a large site,
# each built anew, have 20,000 that ever run. Anybody may post views of made-up ones: 572,500 took minutes and 2 GB.
COMPARE_MAX_FUNCS = 30_000
VIEWER_ORIGIN = read_str("FIELDFLAME_VIEWER_ORIGIN", "https://profiler.firefox.com")
# The other viewers of the menu "Export". One that is left out has no button.
OTHER_VIEWERS = read_viewers(
    "FIELDFLAME_OTHER_VIEWERS", {"speedscope": "https://www.speedscope.app", "perfetto": "https://ui.perfetto.dev"}
)
# Links to exports need no credentials: an hour is enough to open one, a month to answer a ticket with one.
EXPORT_LINK_DEFAULT_S = 3_600
EXPORT_LINK_MAX_S = read_int("FIELDFLAME_EXPORT_LINK_MAX_S", 30 * 86_400, low=60)
# Links to pages for people without an account: a week is enough to look at a finding together, a month for a long ticket.
SHARED_LINK_DEFAULT_DAYS = 7
SHARED_LINK_MAX_DAYS = read_int("FIELDFLAME_SHARED_LINK_MAX_DAYS", 30, low=0)  # 0 switches sharing off
SHARED_LINKS_MAX = 200  # live ones of a project: a list to look through
# Wrong links of one network in a minute, in a web process. A link has 256 random bits, so this only bounds the work.
SHARED_LINK_FAILURES = 60
# A replica that is farther behind is not read: people see what was folded half a minute ago as the newest.
REPLICA_MAX_LAG_S = read_int("FIELDFLAME_REPLICA_MAX_LAG_S", 30, low=1, high=3_600)
# All statements of a page or an answer together: a reader has gone by then, and its connection is free for others.
READ_WAIT_S = read_int("FIELDFLAME_READ_WAIT_S", 30, low=1)
# Tables, call trees, comparisons and exports that a web process computes at a time: up to 150 MB each.
# A process has one interpreter lock, so more at a time are not sooner done. What is beyond waits, then is answered 503.
READ_HEAVY_AT_ONCE = read_int("FIELDFLAME_READ_HEAVY_AT_ONCE", 4, low=1)
READ_HEAVY_WAIT_S = 10
# Views whose contributions one answer decodes: about 30 µs and 400 bytes each.
READ_MAX_VIEWS = 20_000
# Their packed bytes, which are fetched whole: 20,000 recorded views have 5 MB, heavy ones 23. And their functions, counted
# in each view: half a million, or 12 million if all are of the heaviest recorded app. 36,000 of them can have 200 bytes.
READ_MAX_CONTRIBUTION_BYTES = 64 * 2**20
READ_MAX_VIEW_FUNCS = 13_000_000
# Functions of all views that the intervals of a fine slice's table come from, 200 bytes each: a thousand views of the
# heaviest recorded app have 615,000.
FINE_SAMPLE_MAX_FUNCS = 650_000
# Views that a list sorts by the parts of time in their rows: 60 ms for 100,000 (2 shared cores, 2026-11). For a slice with
# more, VIEW_LIST_SAMPLE views are sampled evenly: 150 ms as long as an index finds them, which it does not for many more.
VIEW_LIST_MAX_VIEWS = 200_000
VIEW_LIST_SAMPLE = 5_000
# Samples of one view that its timeline sends: half an hour at 10 ms, 5 MB before it is packed.
TIMELINE_MAX_SAMPLES = 200_000
# Raw traces that one answer folds while a web thread waits: 0.5 ms for a recorded one, 7 ms for a heavy one.
READ_MAX_RAW_TRACES = read_int("FIELDFLAME_READ_MAX_RAW_TRACES", 500, low=1)
READ_MAX_RAW_BYTES = read_int("FIELDFLAME_READ_MAX_RAW_BYTES", 64 * 2**20)  # and their expanded bytes
# Expanded bytes of one of them, which is decoded whole: up to 12 bytes of memory per byte. The largest recorded trace has
# 0.5 MB; 200,000 samples have 7.6 MB.
READ_TRACE_MAX_BYTES = 8 * 2**20
# Samples, and marks with their facts, of views on their clocks in one answer: about 300 and 400 bytes each.
READ_MAX_SAMPLES = 200_000
READ_MAX_FACTS = 100_000
# Functions and call nodes that raw traces have in one answer: about 1 kB and 400 bytes each. The heaviest recorded app has
# 615 functions, and 12,230 stacks in three seconds.
READ_MAX_FUNCS = 50_000
READ_MAX_RAW_NODES = 250_000
# `metrics` of a project: pages and releases with series of their own, of which each pair has about 15. A dashboard of more
# pages is not read, and Prometheus keeps each series for its whole retention.
METRICS_PAGES = read_int("FIELDFLAME_METRICS_PAGES", 20, low=1, high=1_000)
METRICS_RELEASES = read_int("FIELDFLAME_METRICS_RELEASES", 3, low=1, high=100)
# Views whose times make its histograms: all of the window up to this many, else a uniform sample.
METRICS_MAX_VIEWS = 5_000
# Views whose raw traces `vitals` reads while someone waits: recorded ones of four traces each take the pure twin about
# 1 s. A job reads all of a slice. With fewer, intervals of shares are wider than people can use.
VITALS_MAX_VIEWS = 400
VITALS_MAX_TRACES = 2_000  # of these views
# Their expanded bytes: 400 views of heavy traces have 30 MB. Recorded traces take 0.12 µs per byte, hostile ones 0.3.
VITALS_MAX_BYTES = 32 * 2**20
# Traces and expanded bytes of one view, which is held whole: up to 25 bytes of memory per byte. Recorded views have 4
# traces and 21 kB; half a minute of the heaviest recorded app has 4 MB.
VITALS_VIEW_MAX_TRACES = 200
VITALS_VIEW_MAX_BYTES = 4 * 2**20
# Functions that an answer meets before it reads no more views: 2.5 kB of memory each, and one view may add 50,000. Large
# apps have some thousand that ever run.
VITALS_MAX_FUNCS = 20_000
# Functions of all views that a window's intervals come from, 32 bytes each: a thousand heavy views have 200,000.
VITALS_SAMPLE_MAX_FUNCS = 250_000
# Processor seconds of an answer, after which no more views are read: three times what the pure twin takes for 400.
VITALS_READ_S = 5
# Labels of source maps that a process caches, by (release, func): about 400 bytes each, 80 MB. And as many decisions of
# display rules, of funcs with up to 1,000 characters: about 800 bytes each. Of the last project there may be more.
LABELS_CACHE_ROWS = 200_000
# Views of a slice up to which samples of a function that a release has twice (one module in two bundles) count once: up to
# 0.2 s for contributions, and as much for call trees. A job counts all of them once.
COPIES_MAX_VIEWS = 2_000
# Functions whose names a search reads, the newest ones of all projects searched: 0.1 s, with file names up to 0.3 s (one
# core, of a project with a million). Those of source maps are as many again.
SEARCH_MAX_FUNCS = 200_000
# Views that a person saves in one project: each has a name that someone looks for in a list.
SAVED_VIEWS_MAX = 100
# Texts of original sources in one export: enough for the own code of a large app; the viewer holds the file in memory.
SOURCE_TEXTS_MAX_BYTES = 20 * 2**20

# --- Exports ----------------------------------------------------------------------------------------------------------
# Call nodes of an export; lighter ones are pruned. For 500,000 the Firefox Profiler's stack chart took 9 s and 2.1 GB, for
# 50,000 it took 1.2 s (2 shared cores, 2026-08). About 300 bytes each while a file is built here.
EXPORT_MAX_CALL_NODES = read_int("FIELDFLAME_EXPORT_MAX_CALL_NODES", 200_000, low=1_000)
# Call nodes of cells' trees that are summed up together: their columns fit into a processor's cache. For 3.2 million, four
# times as many at once took a quarter longer, and half as many took as long.
TREE_BATCH_NODES = 2**16
EXPORT_MAX_SEGMENTS = 14  # tracks; with the whole slice, as many as a viewer shows
EXPORT_MAX_VIEWS = 20  # on their clocks in one file, sample by sample

# --- Schema changes -----------------------------------------------------------------------------------------------------
# A migration that waits for a lock holds up all who come after it. Posts wait INGEST_DATABASE_WAIT_MS, three times as long.
MIGRATE_LOCK_MS = read_int("FIELDFLAME_MIGRATE_LOCK_MS", 500)
MIGRATE_DEADLINE_S = read_int("FIELDFLAME_MIGRATE_DEADLINE_S", 600)  # of `migrate`, as long as the longest exports take
# Parts into which `distribute` divides the projects of a Citus cluster. Workers get whole parts, so there are more of
# them than there will ever be workers; each is a table of its own in each partition.
CITUS_SHARDS = read_int("FIELDFLAME_CITUS_SHARDS", 32, low=1)
# After new rules of folding. Cells whose sums are away at a time: pages lack few, and each is back within seconds.
REFOLD_IN_BACKGROUND = read_bool("FIELDFLAME_REFOLD_IN_BACKGROUND", True)
REFOLD_CELLS_AT_ONCE = 20
REFOLD_SWEEP_S = 10
