#!/bin/sh
# Renews requirements.lock: resolves srh with its extras in a virtual environment of its own, with the
# oldest Python that srh supports, so that the versions found exist for the newer ones too.

cd "$(dirname "$0")/.." || exit 2
. scripts/lib.sh

judge_python "${PYTHON:-python3}"
case $python_id in
"$minimum "*) ;;
*) fail "the lock is made with Python $minimum, so that newer ones can install it too: make lock PYTHON=python$minimum" ;;
esac

folder=$(mktemp -d) || fail "no temporary folder could be made"
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' HUP INT TERM
log=$folder/setup.log
"$python_exe" -m venv "$folder/venv" >"$log" 2>&1 || fail "$(tail -n 1 "$log")"
say "resolving ..."
install "$folder/venv/bin/python" "$log" '.[dev,frames,llm,plot]'
{
    echo '# The versions that `make` installs: srh with its extras dev, frames, llm and plot, on Python 3.11 to 3.13.'
    echo '# pip reads them as constraints (-c). Renewed with: make lock PYTHON=python3.11'
    "$folder/venv/bin/python" -m pip freeze --exclude srh | sort -f
} >"$folder/lock" || fail "pip could not list what it installed"
cat "$folder/lock" >requirements.lock
say "requirements.lock: $(grep -c == requirements.lock) packages"
