# Sourced by `run` and `test`: makes .venv from a hashed lock. POSIX sh; needs $root, the project's folder.
#
# Nothing outside the project's folder is written but uv's own cache, so it works for any user with any HOME.

venv=$root/.venv

fail() {
    printf 'Fieldflame: %s\n' "$1" >&2
    exit 1
}

# Sets $python to the first Python that is new enough.
find_python() {
    for python in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            return 0
        fi
    done
    found=$("${PYTHON:-python3}" --version 2>&1) || found="no python3"
    fail "Python 3.11 or newer is needed, and here is $found. Install one, or name it: PYTHON=/path/to/python3 $0"
}

# Sets $uv: the one in .tools, else one on the PATH, else the pinned one is installed into .tools by pip.
find_uv() {
    uv=$root/.tools/bin/uv
    if "$uv" --version >/dev/null 2>&1; then
        return 0
    fi
    if uv=$(command -v uv) && "$uv" --version >/dev/null 2>&1; then
        return 0
    fi
    "$python" -m pip --version >/dev/null 2>&1 ||
        fail "uv is not here, and $python has no pip to fetch it with. Install pip (on Debian: python3-pip) or uv."
    rm -rf "$root/.tools"
    "$python" -m pip install --quiet --disable-pip-version-check --no-input --root-user-action ignore --only-binary :all: \
        --require-hashes --target "$root/.tools" -r "$root/requirements/uv.txt" ||
        fail "pip could not install uv; its message is above."
    uv=$root/.tools/bin/uv
    "$uv" --version >/dev/null 2>&1 || fail "the uv that pip installed into .tools does not run on this machine."
}

# A registry behind a company's own certificate is reached as the system reaches it; Python is the one found, never
# downloaded; and where there is no usable home, the caches of uv and cargo are kept beside it.
set_uv_environment() {
    export UV_SYSTEM_CERTS=true UV_PYTHON_DOWNLOADS=never
    if [ -z "${HOME:-}" ] || [ ! -d "$HOME" ] || [ ! -w "$HOME" ]; then
        export UV_CACHE_DIR="${UV_CACHE_DIR:-$root/.tools/cache}" CARGO_HOME="${CARGO_HOME:-$root/.tools/cargo}"
    fi
}

has_stamp() { # has_stamp KIND: the environment carries that lock as it is now
    [ -f "$venv/lock-$1" ] && [ "$(cat "$venv/lock-$1")" = "$(cksum <"$root/requirements/$1.txt")" ] &&
        "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# ensure_environment KIND, KIND being `run` or `test`. A test environment holds all that run needs, so `run` leaves one
# in place: it is brought up to date as a test environment, not emptied.
ensure_environment() {
    kind=$1
    if [ "$kind" = run ] && [ -e "$venv/lock-test" ]; then
        kind=test
    fi
    if has_stamp "$1" && { [ "$kind" = "$1" ] || has_stamp "$kind"; }; then
        return 0
    fi
    find_python
    find_uv
    set_uv_environment
    if ! "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        "$uv" venv --quiet --clear --python "$python" "$venv" || fail "uv could not make $venv; its message is above."
    fi
    # The stamps go first: an interrupted installation is taken up again.
    rm -f "$venv/lock-run" "$venv/lock-history"
    [ "$kind" = run ] || : >"$venv/lock-test"
    "$uv" pip sync --require-hashes --python "$venv/bin/python" "$root/requirements/$kind.txt" ||
        fail "the requirements could not be installed; uv's message is above."
    [ "$kind" = run ] || cksum <"$root/requirements/test.txt" >"$venv/lock-test"
    cksum <"$root/requirements/run.txt" >"$venv/lock-run"
}

# Installs what `export_cells` needs (DuckDB, 66 MB), which is optional. It stays until the packages of a newer version are
# installed, which takes it away: then it is installed again when it is needed.
ensure_history() {
    if has_stamp history; then
        return 0
    fi
    find_python
    find_uv
    set_uv_environment
    "$uv" pip install --quiet --require-hashes --python "$venv/bin/python" -r "$root/requirements/history.txt" ||
        fail "what export_cells needs could not be installed; uv's message is above."
    cksum <"$root/requirements/history.txt" >"$venv/lock-history"
}

# Compiles the bytecode of all packages and of our own code. Services may not write into this folder, so without it each
# of their processes would compile everything that it imports. Packages hold
# some files for other Pythons, which cannot be compiled.
compile_all() {
    "$venv/bin/python" -m compileall -q -j 0 "$venv/lib" >/dev/null 2>&1 || :
    "$venv/bin/python" -m compileall -q -j 0 "$root/config" "$root/ops" "$root/profcore" "$root/projects" \
        "$root/ingest" "$root/aggregate" "$root/alerts" "$root/dashboard" ||
        fail "the bytecode could not be compiled; the reason is above."
}

# The compiled kernel is optional: if it cannot be built, this is said and pure Python does its work.
kernel=$root/packages/fieldflame-kernel

# The sources in one number, which is the stamp of the kernel that is installed.
sum_kernel() {
    (cd "$kernel" && find Cargo.toml crates.lock locked_maturin.py pyproject.toml src -type f | LC_ALL=C sort |
        xargs cat | cksum)
}

# The version of a wheel of these sources. Its last part is their sum, so that a wheel of others is another version.
read_kernel_version() {
    printf '%s+%s' "$(sed -n 's/^version = "\(.*\)"$/\1/p' "$kernel/Cargo.toml")" "$(sum_kernel | tr ' ' .)"
}

# build_wheel FOLDER: it fits each Python from 3.11 on, this processor type, and this libc or a newer one.
build_wheel() {
    find_python
    find_uv
    set_uv_environment
    copy=$(mktemp -d)
    cp -R "$kernel/Cargo.toml" "$kernel/crates.lock" "$kernel/locked_maturin.py" "$kernel/src" "$copy"
    sed "s/^dynamic = .*/version = \"$(read_kernel_version)\"/" "$kernel/pyproject.toml" >"$copy/pyproject.toml"
    CARGO_TARGET_DIR="$kernel/target" "$uv" build --wheel --python "$python" --out-dir "$1" --no-create-gitignore \
        --build-constraint "$root/requirements/kernel.txt" --config-setting "build-args=--compatibility pypi" "$copy" &&
        built=yes || built=
    rm -rf "$copy"
    [ -n "$built" ] || fail "the wheel could not be built; the reason is above."
}

# install_wheel WHEELS: from a folder, or from a page with links, of which only a wheel of these sources that fits this
# machine is taken. A wheel is code: it is looked for nowhere else, and nothing is built from what is there.
install_wheel() {
    [ -n "$1" ] || return 1
    case $1 in
        https://*) ;;
        *://*) fail "$1 cannot be trusted with code: name a folder of wheels, or a page at https://." ;;
    esac
    find_python
    find_uv
    set_uv_environment
    version=$(read_kernel_version)
    if ! why=$("$uv" pip install --quiet --python "$venv/bin/python" --no-config --no-index --no-build --no-deps \
        --find-links "$1" --reinstall-package fieldflame-kernel "fieldflame-kernel==$version" 2>&1); then
        why=$(printf '%s' "$why" | tr -s '[:space:]' ' ')
    elif [ ! -d "$venv"/lib/python3*/site-packages/"fieldflame_kernel-$version.dist-info" ]; then
        # uv believes the name of a file. The wheel itself says its version too.
        rm -rf "$venv"/lib/python3*/site-packages/fieldflame_kernel*
        why="a file has the name of another version"
    else
        sum_kernel >"$venv/lock-kernel"
        return 0
    fi
    printf 'Fieldflame: no wheel of %s fits this version on this machine: %s\n' "$1" "$why" >&2
    return 1
}

has_kernel() { # the installed kernel is of the sources that are here
    [ -d "$venv"/lib/python3*/site-packages/fieldflame_kernel ] && [ -f "$venv/lock-kernel" ] &&
        [ "$(cat "$venv/lock-kernel")" = "$(sum_kernel)" ]
}

install_kernel() { # install_kernel FOLDER
    find_python
    find_uv
    set_uv_environment
    sum=$(sum_kernel)
    "$uv" pip install --quiet --reinstall-package fieldflame-kernel --python "$venv/bin/python" \
        --build-constraint "$root/requirements/kernel.txt" "$1" || fail "the compiled kernel could not be installed."
    printf '%s\n' "$sum" >"$venv/lock-kernel"
}

# Returns 0 if a kernel must be built. One that was built from other sources goes first: it is never used. One without a
# stamp was installed by hand, and stays. Where FIELDFLAME_KERNEL_WHEELS has a wheel that fits, it is installed instead.
needs_kernel() {
    if [ "${FIELDFLAME_KERNEL:-auto}" = pure ] || has_kernel; then
        return 1
    fi
    [ ! -f "$venv/lock-kernel" ] || rm -rf "$venv/lock-kernel" "$venv"/lib/python3*/site-packages/fieldflame_kernel*
    if (install_wheel "${FIELDFLAME_KERNEL_WHEELS:-}"); then
        return 1
    fi
    command -v cargo >/dev/null 2>&1
}

# Builds the kernel now, if it is not here.
ensure_kernel() {
    if needs_kernel; then
        printf 'Fieldflame: building the compiled kernel; this takes about a minute, once.\n' >&2
        (install_kernel "$kernel") || :
    fi
}

# Builds it beside the start, on what the start leaves of the processors. Nobody waits for it: the next start uses it.
# The build outlives Ctrl-C: compilers end at that signal, so it has a session of its own.
ensure_kernel_beside() {
    if [ "${FIELDFLAME_KERNEL:-auto}" = compiled ]; then
        ensure_kernel
    elif needs_kernel; then
        (setsid nice -n 19 "$root/run" kernel </dev/null >"$venv/kernel.log" 2>&1 &)
    fi
}

# Rewrites the locks: names, versions and hashes, and nothing about the machine that made them. Arguments go to uv
# (`./run lock --upgrade`).
write_locks() {
    find_python
    find_uv
    set_uv_environment
    cd "$root"
    for name in uv kernel run history test; do
        constraint=
        [ "$name" = test ] && constraint="--constraint requirements/run.txt --constraint requirements/history.txt"
        # shellcheck disable=SC2086  # the constraints are several words or none
        "$uv" pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --universal \
            --python-version 3.11 --custom-compile-command './run lock' $constraint "$@" \
            --output-file "requirements/$name.txt" "requirements/$name.in" || fail "uv could not lock $name.in."
        printf 'Fieldflame: wrote requirements/%s.txt\n' "$name"
    done
    command -v cargo >/dev/null 2>&1 || fail "crates.lock is left as it was: there is no cargo on the PATH."
    "$python" "$kernel/locked_maturin.py" "$@" || fail "cargo could not lock the crates of the kernel."
    printf 'Fieldflame: wrote packages/fieldflame-kernel/crates.lock\n'
}
