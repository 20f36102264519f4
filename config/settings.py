"""Every setting of Fieldflame, read from `FIELDFLAME_*` variables by typed readers. Its limits are in `config.limits`.

`docs/settings.md` lists them for operators.
"""

import os
import secrets
import socket
import sys
from datetime import timedelta
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from kombu import Queue
from whitenoise.compress import Compressor

from config.env import (
    make_broker_url,
    read_bool,
    read_bucket,
    read_choice,
    read_database,
    read_group_roles,
    read_int,
    read_issuer,
    read_list,
    read_path,
    read_secret,
    read_str,
    read_url_path,
)
from config.limits import *  # noqa: F403  # settings like those below, in a file of their own
from config.limits import (
    ALERTS_SEND_S,
    ALERTS_SWEEP_S,
    DELETE_SWEEP_S,
    FOLD_SWEEP_S,
    JOB_SWEEP_S,
    PACK_SWEEP_S,
    REFOLD_SWEEP_S,
    SYMBOLICATE_SWEEP_S,
)
from ingest.deadline import RECONNECTING, DeadlineConnection
from ops.telemetry.logs import FORMATS, make_logging
from profcore.kernel import KernelChoice, KernelError, find_kernel

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = read_path("FIELDFLAME_DATA", BASE_DIR / "var")

# --- Django ---------------------------------------------------------------------------------------------------------
DEBUG = read_bool("FIELDFLAME_DEBUG", False)
SECRET_KEY = read_secret("FIELDFLAME_SECRET_KEY", "")
IS_SECRET_KEPT = True
if not SECRET_KEY:
    secret_file = DATA_DIR / "secret_key"
    if secret_file.exists():
        SECRET_KEY = secret_file.read_text().strip()
    elif os.environ.get("FIELDFLAME_REQUIRE_SECRET"):
        raise ImproperlyConfigured("FIELDFLAME_SECRET_KEY is not set, and no secret_key file is in the data folder.")
    else:
        # For management commands: a key of this process alone. The web server does not start with it (config.wsgi).
        SECRET_KEY = secrets.token_urlsafe(50)
        IS_SECRET_KEPT = False
ALLOWED_HOSTS = read_list("FIELDFLAME_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]", "testserver"])
CSRF_TRUSTED_ORIGINS = read_list("FIELDFLAME_CSRF_TRUSTED_ORIGINS", [])
# The path below which browsers reach this server, empty for the root of its host. Django begins all addresses with it;
# config.wsgi takes it off requests. No header of a proxy says it: worker and beat write links too, and get no requests.
URL_PATH = read_url_path("FIELDFLAME_PATH")
FORCE_SCRIPT_NAME = URL_PATH or None
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
INSTALLED_APPS = [
    "ops",  # first: its commands come before Django's of the same name
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "axes",
    "csp",
    "rest_framework",
    "drf_spectacular_sidecar",
    "projects",
    "ingest",
    "aggregate",
    "alerts",
    "dashboard",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "dashboard.web.guests.middleware.GuestMiddleware",  # above sessions: a guest's request has none
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "dashboard.web.logins.acting.ActingMiddleware",
    "dashboard.web.load_shedding.LoadSheddingMiddleware",
    "dashboard.web.read_deadline.ReadDeadlineMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
FILE_UPLOAD_HANDLERS = ["dashboard.web.uploads.NoFiles"]  # pages that take files say so: dashboard.web.uploads
PASSWORD_RESET_TIMEOUT = 3 * 86_400  # seconds for a link that opens an account: over a weekend
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4_000  # of a form: that of code rules has 2,700 at their limits
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440  # bytes of a form, or of JSON for the read API: 400 kB of rules are much
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "projects"
LOGOUT_REDIRECT_URL = "login"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
STATIC_URL = f"{URL_PATH}/static/"
STATIC_ROOT = read_path("FIELDFLAME_STATIC_ROOT", DATA_DIR / "static")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "ops.static_files.StaticStorage"},
}
# Source maps are two thirds of the packages' static files and are hardly ever requested: compressing them took 2 s.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- Safety of pages ------------------------------------------------------------------------------------------------
# The opener policy must let "Open in Firefox Profiler" keep talking to the window it opened.
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin-allow-popups"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
HTTPS = read_bool("FIELDFLAME_HTTPS", False)
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = URL_PATH or "/"
# Below a path, browsers also send the cookies of the host's root. Those of another Django would have the same names.
COOKIE_PREFIX = "fieldflame_" if URL_PATH else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid", f"{COOKIE_PREFIX}csrftoken"
MESSAGE_STORAGE = "dashboard.layout.messages.MessageStorage"
SECURE_HSTS_SECONDS = read_int("FIELDFLAME_HSTS_SECONDS", 0)
BEHIND_PROXY = read_bool("FIELDFLAME_BEHIND_PROXY", False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- The read API -----------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["dashboard.web.answers.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["dashboard.api.core.schemas.BoundedJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "dashboard.api.core.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
}

# --- What the doctor cannot see by itself -----------------------------------------------------------------------------
ADDRESS = read_str("FIELDFLAME_ADDRESS", "")  # as browsers name this server: its certificate is looked at
DATABASE_DISK_GB = read_int("FIELDFLAME_DATABASE_DISK_GB", 0)  # of PostgreSQL on another machine; 0: not known

# --- E-mail of alerts; without a host there is none ------------------------------------------------------------------
EMAIL_HOST = read_str("FIELDFLAME_MAIL_HOST", "")
EMAIL_PORT = read_int("FIELDFLAME_MAIL_PORT", 25, low=1, high=65_535)
EMAIL_HOST_USER = read_str("FIELDFLAME_MAIL_USER", "")
EMAIL_HOST_PASSWORD = read_secret("FIELDFLAME_MAIL_PASSWORD", "")
MAIL_SECURITY = read_choice("FIELDFLAME_MAIL_SECURITY", "starttls", ["none", "starttls", "tls"])
EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL_SECURITY == "starttls", MAIL_SECURITY == "tls"
EMAIL_TIMEOUT = ALERTS_SEND_S
DEFAULT_FROM_EMAIL = read_str("FIELDFLAME_MAIL_FROM", "fieldflame@localhost")

METRICS_TOKEN = read_secret("FIELDFLAME_METRICS_TOKEN", "")  # lets another machine read /metrics; empty lets none
# Web servers answer /metrics themselves. Workers and beat serve nothing else; 0 is no port. `./run` needs none: its web
# server has the counts of all its parts.
METRICS_HOST = read_str("FIELDFLAME_METRICS_HOST", "127.0.0.1")
WORKER_METRICS_PORT = read_int("FIELDFLAME_WORKER_METRICS_PORT", 0, high=65_535)
BEAT_METRICS_PORT = read_int("FIELDFLAME_BEAT_METRICS_PORT", 0, high=65_535)

# --- Bodies of requests: how slowly they may come (a proxy in front receives them first) -------------------------------
BODY_WAIT_S = read_int("FIELDFLAME_BODY_WAIT_S", 10, low=1)  # for its first bytes, and for a pause of a phone's network
BODY_BYTES_PER_S = read_int("FIELDFLAME_BODY_BYTES_PER_S", 2_000, low=1)  # half of what a phone sends in a weak network
# Half of the threads may wait for bodies that are slow; the others are for those that come at once.
SLOW_BODIES_AT_ONCE = read_int("FIELDFLAME_WEB_THREADS", 64, low=2) // 2
SLOW_BODIES_PER_ADDRESS = read_int("FIELDFLAME_SLOW_BODIES_PER_ADDRESS", 8, low=1)  # a quarter of those of a process

# --- Stores ---------------------------------------------------------------------------------------------------------
DATABASES = {
    "default": {
        "ENGINE": "ops.database",
        "CONN_MAX_AGE": 0,
        # A pooled connection is checked before it is used, so that a restart of the database breaks no request.
        "CONN_HEALTH_CHECKS": True,
        **read_database("DATABASE_URL", "postgresql://fieldflame@127.0.0.1:5432/fieldflame"),
    }
}
# One pool per process. Web processes have 64 threads, but the endpoint holds a connection only for some milliseconds. A
# thread waits at most `timeout` for one. A post waits at most INGEST_DATABASE_WAIT_MS for connections and answers; then
# the endpoint answers 503, and the browser may try again.
DB_POOL_MAX = read_int("FIELDFLAME_DB_POOL", 8, low=1)
DB_POOL_IDLE_S = 5  # then one that a burst needed is closed, and the next 5 s later: each keeps 8 MB in PostgreSQL
# A server that was cut off, or lost its power, sends nothing any more: the system asks it after 10 s of silence, and gives
# the connection up after 25. Otherwise it waits for two hours. Unix sockets pass over these; the address may set others.
DB_KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000}
DATABASES["default"]["OPTIONS"] = {
    **DB_KEEPALIVES,
    **DATABASES["default"]["OPTIONS"],  # type: ignore[dict-item]  # read_database types its values as objects
    "pool": {
        "min_size": 1,
        "max_size": DB_POOL_MAX,
        "timeout": 10,
        "max_idle": DB_POOL_IDLE_S,
        "connection_class": DeadlineConnection,
        **RECONNECTING,
    },
    "application_name": "fieldflame",
    "server_side_binding": True,  # arrays and bodies go as binary parameters, not as text inside the statement
}
# Behind a pooler that gives each transaction another session (PgBouncer's transaction mode), no cursor may outlive its
# transaction. Django's connections prepare no statements anyway.
TRANSACTION_POOLING = read_bool("FIELDFLAME_TRANSACTION_POOLING", False)
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = TRANSACTION_POOLING
# A standby of that PostgreSQL, which pages and the read API read. Empty: there is none.
if read_secret("FIELDFLAME_REPLICA_URL", ""):
    DATABASES["replica"] = {**DATABASES["default"], **read_database("FIELDFLAME_REPLICA_URL", "")}
    DATABASES["replica"]["OPTIONS"] = {
        **DATABASES["default"]["OPTIONS"],  # type: ignore[dict-item]  # as above
        **DATABASES["replica"]["OPTIONS"],  # type: ignore[dict-item]
        # A reader waits no longer for a replica that is cut off; the database answers then.
        **{"connect_timeout": 2, "keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3},
        "tcp_user_timeout": 5_000,
    }
    MIDDLEWARE.append("dashboard.web.replica.reading.ReadYourWritesMiddleware")
REDIS_URL = read_secret("REDIS_URL", "redis://127.0.0.1:6379/0")
# Bodies of traces in an object store: `s3://bucket/folder`. Empty: they lie in PostgreSQL.
OBJECTS = read_bucket("FIELDFLAME_OBJECTS")
OBJECTS_PUT = read_bool("FIELDFLAME_OBJECTS_PUT", True)  # no: new ones go to PostgreSQL, those in the store are read
OBJECTS_ENDPOINT = read_str("FIELDFLAME_OBJECTS_ENDPOINT", "").rstrip("/")  # empty: Amazon's
OBJECTS_REGION = read_str("FIELDFLAME_OBJECTS_REGION", "us-east-1")
OBJECTS_ACCESS_KEY = read_secret("FIELDFLAME_OBJECTS_ACCESS_KEY", "")  # empty: those of the machine's own role
OBJECTS_SECRET_KEY = read_secret("FIELDFLAME_OBJECTS_SECRET_KEY", "")
if bool(OBJECTS_ACCESS_KEY) != bool(OBJECTS_SECRET_KEY):
    raise ImproperlyConfigured("FIELDFLAME_OBJECTS_ACCESS_KEY and FIELDFLAME_OBJECTS_SECRET_KEY belong together.")

# --- Logins by a provider (OpenID Connect), and by passwords ------------------------------------------------------------
OIDC_ISSUER = read_issuer("FIELDFLAME_OIDC_ISSUER")  # empty: there is no provider
OIDC_CLIENT_ID = read_str("FIELDFLAME_OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = read_secret("FIELDFLAME_OIDC_CLIENT_SECRET", "")
OIDC_NAME = read_str("FIELDFLAME_OIDC_NAME", "single sign-on")  # on the button
OIDC_SCOPES = read_str("FIELDFLAME_OIDC_SCOPES", "openid profile email")
OIDC_USERNAME_CLAIM = read_str("FIELDFLAME_OIDC_USERNAME_CLAIM", "preferred_username")
OIDC_GROUPS_CLAIM = read_str("FIELDFLAME_OIDC_GROUPS_CLAIM", "groups")
OIDC_ROLES = read_group_roles("FIELDFLAME_OIDC_ROLES")
OIDC_LINK_BY_NAME = read_bool("FIELDFLAME_OIDC_LINK_BY_NAME", False)
OIDC_SESSION_HOURS = read_int("FIELDFLAME_OIDC_SESSION_HOURS", 12, low=1)  # a working day; then groups are asked again
OIDC_WAIT_S = 10  # for each answer of the provider: people wait for it, and a thread
if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET):
    raise ImproperlyConfigured(
        "FIELDFLAME_OIDC_ISSUER needs FIELDFLAME_OIDC_CLIENT_ID and FIELDFLAME_OIDC_CLIENT_SECRET, or its _FILE."
    )
PASSWORD_LOGIN = read_bool("FIELDFLAME_PASSWORD_LOGIN", True)
if not PASSWORD_LOGIN and not OIDC_ISSUER:
    raise ImproperlyConfigured("FIELDFLAME_PASSWORD_LOGIN=0 needs FIELDFLAME_OIDC_ISSUER: no one could log in.")
SILENCED_SYSTEM_CHECKS = [] if PASSWORD_LOGIN else ["axes.W003"]  # django-axes has no passwords to count then
AUTHENTICATION_BACKENDS = [
    *(["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"] if PASSWORD_LOGIN else []),
    *(["dashboard.web.logins.provider.ProviderBackend"] if OIDC_ISSUER else []),
]

# --- Logins: wrong passwords are counted in Valkey, by name and network together ----------------------------------------
# With both, a stranger cannot lock anybody out from elsewhere. Counts and locks end by themselves.
LOGIN_FAILURES = read_int(
    "FIELDFLAME_LOGIN_FAILURES", 10, low=1
)  # people try their few passwords, guessers need thousands
LOGIN_LOCK_S = read_int("FIELDFLAME_LOGIN_LOCK_S", 900, low=1)  # 1,000 guesses a day remain, by name and network
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "logins": {
        "BACKEND": "dashboard.web.logins.cache.LoginCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "fieldflame-logins",
        "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    },
}
AXES_HANDLER = "axes.handlers.cache.AxesCacheHandler"
AXES_CACHE = "logins"
AXES_FAILURE_LIMIT = LOGIN_FAILURES
AXES_COOLOFF_TIME = timedelta(seconds=LOGIN_LOCK_S)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # else a stranger in one's network could renew a lock for ever
AXES_CLIENT_IP_CALLABLE = "dashboard.web.logins.visitors.name_network"
AXES_LOCKOUT_CALLABLE = "dashboard.pages.login.answer_locked_out"
AXES_VERBOSE = False

# --- The fold and the checks of the ingest endpoint: compiled, or their pure twin -------------------------------------
KERNEL = read_choice("FIELDFLAME_KERNEL", "auto", [choice.value for choice in KernelChoice])
if KERNEL == KernelChoice.COMPILED:
    try:
        find_kernel(KERNEL)
    except KernelError as error:
        raise ImproperlyConfigured(str(error)) from None

# --- Celery ---------------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = make_broker_url(REDIS_URL)
# A worker works on both queues. `deploy/start fold` and `deploy/start maintenance` start workers of one: they scale apart, and
# need different memory.
FOLD_QUEUE, MAINTENANCE_QUEUE = "celery", "maintenance"
CELERY_TASK_QUEUES = [Queue(FOLD_QUEUE), Queue(MAINTENANCE_QUEUE)]
CELERY_TASK_DEFAULT_QUEUE = FOLD_QUEUE
MAINTENANCE_TASKS = [
    "aggregate.delete_projects",
    "aggregate.expire",
    "alerts.evaluate",
    "aggregate.measure_store",
    "aggregate.merge_hours",
    "aggregate.refold",
    "aggregate.roll_up_hours",
    "alerts.send_messages",
    "aggregate.symbolicate",
    "aggregate.tidy_packs",
    "dashboard.clear_sessions",
    "dashboard.run_jobs",
    "ingest.expire_waiting",
    "ingest.join_chunks",
    "ingest.make_partitions",
]
CELERY_TASK_ROUTES = {name: {"queue": MAINTENANCE_QUEUE} for name in MAINTENANCE_TASKS}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = (
    False  # notifications have no data: the sweep replaces lost ones, and redelivery would only add load
)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = read_int("FIELDFLAME_WORKER_PROCESSES", 2, low=1)
CELERY_WORKER_AUTOSCALER = "ops.worker_processes:PatientAutoscaler"
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 200_000  # KiB: half of what 2 processes may take under 300 MB each
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# As for PostgreSQL: a Valkey that was cut off is given up after 25 s. Workers wait for messages without a limit of their
# own.
BROKER_KEEPALIVES: dict[int, int] = {}
if sys.platform == "linux":  # elsewhere the constants have other names
    BROKER_KEEPALIVES = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}
    BROKER_KEEPALIVES[socket.TCP_USER_TIMEOUT] = 25_000
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **{"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "max_retries": 0},
    **{"socket_keepalive": True, "socket_keepalive_options": BROKER_KEEPALIVES},
}
CELERY_TASK_PUBLISH_RETRY = False

# --- Tasks that beat sends ------------------------------------------------------------------------------------------
# What no worker has taken when the next is due would only pile up. A worker compares its own clock with beat's, so a task
# is valid for longer than clocks of hosts may differ: by less, a worker that is ahead would drop each sweep. A sweep that
# finds nothing takes a millisecond.
CLOCKS_DIFFER_S = 900.0
SCHEDULE = {
    "sweep": ("aggregate.sweep", FOLD_SWEEP_S),
    "partitions": ("ingest.make_partitions", 3600.0),
    "chunks": ("ingest.join_chunks", 5.0),
    "waiting": ("ingest.expire_waiting", 300.0),
    "roll-up": ("aggregate.roll_up_hours", 300.0),
    "merge": ("aggregate.merge_hours", 600.0),
    "jobs": ("dashboard.run_jobs", JOB_SWEEP_S),
    "symbolicate": ("aggregate.symbolicate", SYMBOLICATE_SWEEP_S),
    "delete": ("aggregate.delete_projects", DELETE_SWEEP_S),
    "measure": ("aggregate.measure_store", 1800.0),
    "refold": ("aggregate.refold", REFOLD_SWEEP_S),
    "expire": ("aggregate.expire", 3600.0),
    "alerts": ("alerts.evaluate", ALERTS_SWEEP_S),
    "messages": ("alerts.send_messages", ALERTS_SWEEP_S),
    "packs": ("aggregate.tidy_packs", PACK_SWEEP_S),
    "sessions": ("dashboard.clear_sessions", 3600.0),
}
CELERY_BEAT_SCHEDULE = {
    name: {"task": task, "schedule": every_s, "options": {"expires": every_s + CLOCKS_DIFFER_S}}
    for name, (task, every_s) in SCHEDULE.items()
}

# --- Logs -------------------------------------------------------------------------------------------------------------
LOG_FORMAT = read_choice("FIELDFLAME_LOG_FORMAT", "text", FORMATS)
LOG_LEVEL = read_choice("FIELDFLAME_LOG_LEVEL", "INFO", ["debug", "info", "warning", "error", "critical"]).upper()
LOGGING = make_logging(LOG_LEVEL)
