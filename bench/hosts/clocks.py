"""Clocks of hosts that differ: a small library, loaded before a program, that moves what its C library says.

A namespace of time moves only the clocks that count from the boot. So `time`, `gettimeofday` and `clock_gettime` are
replaced, for the clocks that tell the time of day: Python, granian, Celery, PostgreSQL and Valkey all ask these. What
counts elapsed time is left as it is. The kernel's own stamps, such as those of files, are not moved either.
"""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.hosts.network import NoHosts

VARIABLE: Final = "FIELDFLAME_BENCH_SKEW_S"
SOURCE: Final = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t skew(void) {
    static int is_known = 0;
    static time_t seconds = 0;
    if (!is_known) {
        const char *text = getenv("FIELDFLAME_BENCH_SKEW_S");
        seconds = text ? atol(text) : 0;
        is_known = 1;
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += skew();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now) {
        now->tv_sec = exact.tv_sec;
        now->tv_usec = exact.tv_nsec / 1000;
    }
    return 0;
}

time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}
"""


def make_clocks(folder: Path, skews_s: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """Returns the variables, by host, that let its programs have a clock of their own. Raises `NoHosts`."""
    if not skews_s:
        return {}
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoHosts("clocks that differ need a C compiler, and there is no cc")
    source, library = folder / "clock.c", folder / "clock.so"
    source.write_text(SOURCE, encoding="ascii")
    words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoHosts(f"the library that moves clocks cannot be compiled: {done.stderr[-500:]}")
    library.chmod(0o755)
    return {name: {"LD_PRELOAD": str(library), VARIABLE: str(round(skew))} for name, skew in skews_s.items()}
