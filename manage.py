#!/usr/bin/env python
"""Fieldflame's command line: `./run COMMAND` calls this inside the project's environment."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # Before Django reads its settings: where DATABASE_URL is not set, the data folder's servers are found, or started.
    from django.core.exceptions import ImproperlyConfigured

    from config.env import take_in_secret
    from ops.supervisor.command_stores import run_with_stores

    try:
        for name in ("DATABASE_URL", "REDIS_URL"):
            take_in_secret(name)
    except ImproperlyConfigured as error:
        sys.exit(f"Fieldflame: {error}")
    if sys.argv[1:2] == ["up"]:
        from ops.supervisor.start import main as start_all

        sys.exit(start_all(sys.argv[2:]))
    code = run_with_stores(sys.argv)
    if code is not None:
        sys.exit(code)

    from ops.checks import stop_if_misconfigured

    stop_if_misconfigured()
    from django.core.management import execute_from_command_line
    from django.db import OperationalError
    from psycopg_pool import PoolTimeout

    from projects.audit.actors import act_as_command

    act_as_command(" ".join(sys.argv[1:2]))
    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        if not isinstance(error.__cause__, PoolTimeout):
            raise
        sys.exit("Fieldflame: PostgreSQL does not answer. See whether it runs, and what DATABASE_URL says.")


if __name__ == "__main__":
    main()
