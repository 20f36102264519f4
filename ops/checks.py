"""Says in one sentence which setting is wrong, before a part or a command starts: `python -m ops.checks`.

Without this, a web server's processes would end with a traceback each and be started again, over and over.
"""

import os
import sys


def stop_if_misconfigured() -> None:
    """Ends the process with a sentence if a setting cannot be read, or does not go with another."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        settings.INSTALLED_APPS  # noqa: B018  # the first look reads them all
    except ImproperlyConfigured as error:
        print(f"Fieldflame: {error}", file=sys.stderr)
        sys.exit(os.EX_CONFIG)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    stop_if_misconfigured()
