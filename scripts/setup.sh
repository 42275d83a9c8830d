#!/bin/sh
# Usage: sh scripts/setup.sh runtime|dev
#
# Makes .venv and installs srh into it, with the versions of requirements.lock; does nothing when
# that has been done. A stamp for each of the two sets of packages says what it was made from: the
# folder, the interpreter, pyproject.toml and the lock. While a set-up runs .venv holds a mark; one
# that is found at the start belongs to a set-up that was cut short, and .venv is made anew.

cd "$(dirname "$0")/.." || exit 2
. scripts/lib.sh

kind=$1
case $kind in
runtime) what=. kinds=runtime ;;
dev) what='.[dev]' kinds='runtime dev' ;;
*) fail "usage: sh scripts/setup.sh runtime|dev" ;;
esac

venv_python=.venv/bin/python
log=.venv/setup.log
mark=.venv/setup-unfinished

stamp() {
    printf '%s\n' "folder $(pwd -P)" "python $1" "needs $(cat pyproject.toml requirements.lock | cksum)"
}

# Is .venv complete, and made with the interpreter that $1 identifies?
complete() {
    [ ! -e "$mark" ] && [ "$(cat ".venv/setup-$kind" 2>/dev/null)" = "$(stamp "$1")" ] &&
        [ "$(identity "$venv_python")" = "$1" ]
}

# Can packages be installed into the .venv that is there?
reusable() {
    [ ! -e "$mark" ] && [ "$(identity "$venv_python")" = "$python_id" ] &&
        "$venv_python" -c 'import pip' >/dev/null 2>&1 || return
    [ ! -e .venv/setup-runtime ] || [ "$(head -n 1 .venv/setup-runtime)" = "folder $(pwd -P)" ]
}

# Without PYTHON= a .venv that works stays with the interpreter that it was made with.
choice=$PYTHON
if [ -z "$choice" ]; then
    case $(probe "$venv_python") in
    new*) choice=$venv_python ;;
    *) choice=python3 ;;
    esac
fi
wanted=$(identity "$choice")
[ -z "$wanted" ] || ! complete "$wanted" || exit 0

# One set-up at a time in this folder; the second finds the work done.
if command -v flock >/dev/null 2>&1; then
    exec 9<scripts/setup.sh
    flock 9
fi
judge_python "$choice"
! complete "$python_id" || exit 0

say "setting up .venv (once, a minute or two; log: .venv/setup.log) ..."
if ! reusable; then
    rm -rf .venv 2>/dev/null
    [ ! -e .venv ] || fail "the old .venv in $(pwd) cannot be removed; remove it by hand or ask its owner"
    mkdir .venv 2>/dev/null ||
        fail "$(pwd) cannot be written to, and .venv belongs there. Use a copy in a folder of your own"
    : >"$mark"
    "$python_exe" -m venv .venv >"$log" 2>&1 ||
        fail "$python_exe could not make a virtual environment:" \
            "$(grep . "$log" | tail -n 1 | cut -c 1-200) (log: $log)"
fi
[ -w .venv ] || fail "$(pwd)/.venv cannot be written to; remove it or ask its owner"
: >"$mark"
: >"$log"

# pip undoes what it cannot finish: after an orderly failure the earlier set-up still holds.
trap 'code=$?; [ "$code" -ne 2 ] || rm -f "$mark"; exit "$code"' EXIT
trap 'trap - EXIT; exit 130' HUP INT TERM
install "$venv_python" "$log" -c requirements.lock -e "$what"
[ -x .venv/bin/srh ] ||
    fail "pip installed srh somewhere else than into .venv: see '$venv_python -m pip config list' (log: $log)"
for done_kind in $kinds; do
    stamp "$python_id" >".venv/setup-$done_kind"
done
rm -f "$mark"
