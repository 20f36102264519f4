"""A fault of Python's `tarfile`: a small archive can keep it busy for hours. Source maps arrive in tar archives."""

import platform
import sys
import tarfile


def describe_tar_fault() -> str:
    """Returns a sentence about the fault; an empty text if this Python has the fix."""
    # 3.13 never had the fault. The fix brought this name: to 3.11.10, 3.12.6, and older versions of distributions.
    if sys.version_info >= (3, 13) or hasattr(tarfile, "_header_length_prefix_re"):
        return ""
    return (
        f"An uploaded tar archive can keep Python {platform.python_version()} busy for hours (CVE-2024-6232); "
        "3.11.10, 3.12.6 and 3.13 have the fix."
    )
