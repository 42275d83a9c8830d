# Shared by the scripts here: sentences, interpreters, pip. Sourced from the project's folder, not run.

minimum="3.11"

say() {
    printf '%s\n' "$*" >&2
}

fail() {
    say "error: $*"
    exit 2
}

line() {
    printf '%s\n' "$2" | sed -n "$1p"
}

# Prints three lines: "new" or "old" against the minimum, then the version; what identifies the
# interpreter (the same for a virtual environment and for the Python it was made with); the path of
# the interpreter outside any virtual environment. Every Python since 2.6 can run it.
probe() {
    "$1" -c '
import os, sys
new = "new" if sys.version_info[:2] >= (3, 11) else "old"
base = os.path.realpath(getattr(sys, "base_prefix", sys.prefix))
print("%s %d.%d.%d" % ((new,) + tuple(sys.version_info[:3])))
print("%d.%d %s" % (sys.version_info[0], sys.version_info[1], base))
print(getattr(sys, "_base_executable", None) or sys.executable)
' 2>/dev/null
}

# The version and home of an interpreter in one line; empty for what does not run.
identity() {
    line 2 "$(probe "$1")"
}

# The first newer Python that really runs: a name on the PATH may be an empty promise of a version manager.
newer_python() {
    for name in python3.13 python3.12 python3.11 python3.14; do
        case $(probe "$name") in
        new*) echo "$name" && return ;;
        esac
    done
    echo python3.12
}

# Sets python_id and python_exe for the interpreter named by $1, or ends with one sentence.
judge_python() {
    another="choose another: make PYTHON=$(newer_python) ..."
    command -v "$1" >/dev/null 2>&1 ||
        fail "Python was not found: there is no '$1'; install Python $minimum or newer, or $another"
    found=$(probe "$1") || fail "'$1' does not run as Python; $another"
    case $found in
    new*) ;;
    old*) fail "'$1' is Python $(line 1 "$found" | cut -c 5-), srh needs $minimum or newer; $another" ;;
    *) fail "'$1' does not answer as Python does; $another" ;;
    esac
    python_id=$(line 2 "$found")
    python_exe=$(line 3 "$found")
    # Debian packs this part apart; a folder that it left behind may still be importable.
    "$python_exe" -c 'import venv; from ensurepip import bootstrap' >/dev/null 2>&1 ||
        fail "the Python at $python_exe cannot make virtual environments;" \
            "on Debian or Ubuntu: apt-get install python3-venv" \
            "(for a Python that is not the system's own: python${python_id%% *}-venv)"
}

# What pip says when no server answers it; the last is all that it says when told not to try again.
no_server='NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError'
no_server="$no_server|Connection (refused|broken|to .* timed out)|Network is unreachable"
no_server="$no_server|from versions: none"

# A user's own settings of pip say where packages come from. These would say that the packages go
# elsewhere, are for another Python, are others, or are none at all.
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_PLATFORM PIP_PYTHON_VERSION PIP_IMPLEMENTATION PIP_ABI \
    PIP_NO_DEPS PIP_DRY_RUN PIP_REQUIREMENT PIP_EDITABLE PIP_REQUIRE_HASHES PIP_NO_BUILD_ISOLATION \
    PIP_SRC PIP_LOG PIP_QUIET PIP_REPORT PIP_GROUP PYTHONPATH PYTHONHOME
export PIP_USER=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# install PYTHON LOG ARGUMENTS...: pip install, all that it says into LOG; ends with one sentence if it fails.
install() {
    install_python=$1 install_log=$2
    shift 2
    "$install_python" -m pip install "$@" >>"$install_log" 2>&1 && return
    if grep -q 'No space left on device' "$install_log"; then
        why="the disk is full"
    elif grep -Eq "$no_server" "$install_log"; then
        why="no package registry that has them could be reached;"
        why="$why check the network, or pip's index and proxy settings"
    else
        why=$(grep '^ *ERROR: ' "$install_log" | tail -n 1 | sed 's/^ *ERROR: //' | cut -c 1-200)
    fi
    fail "the packages that srh needs were not installed: ${why:-pip gave no reason} (log: $install_log)"
}
