#!/bin/sh
# Usage: TASK=... [TRIAL=... | A=... B=... | TRIALS="..."] sh scripts/trials.sh eval|compare|verify
#
# Checks the names first, so that a mistyped one costs no set-up, then hands over to the srh command.

cd "$(dirname "$0")/.." || exit 2
. scripts/lib.sh

command=$1
case $command in
eval | compare | verify) ;;
*) fail "usage: sh scripts/trials.sh eval|compare|verify" ;;
esac

# listed: lines of folder names as one line.
listed() {
    tr '\n' ' ' | sed 's/ $//; s/ /, /g'
}

tasks() {
    for found in tasks/*/task.toml; do
        [ ! -f "$found" ] || basename "$(dirname "$found")"
    done
}

# Ids of the trials; "runs" cannot be one.
trials() {
    for found in "trials/$task"/*/; do
        [ ! -d "$found" ] || basename "$found"
    done | grep -v '^runs$'
}

# bare PREFIX NAME: kepler for tasks/kepler/, so that what the shell completes is understood.
bare() {
    bare_name=${2#"$1"}
    printf '%s\n' "${bare_name%/}"
}

known_tasks="tasks here: $(tasks | listed)"
[ -n "$TASK" ] || fail "which task? make $command TASK=kepler ($known_tasks)"
task=$(bare tasks/ "$TASK")
tasks | grep -Fqx -e "$task" || fail "there is no task '$TASK' ($known_tasks)"
known_trials="trials of $task: $(trials | listed)"

# The trials go into the positional parameters, which is how sh keeps a list.
set -f
case $command in
compare)
    set -- $A $B $TRIALS
    [ $# -ge 2 ] || fail "which trials? make compare TASK=$task A=... B=..., or TRIALS=\"...\" ($known_trials)"
    ;;
*)
    set -- $TRIAL $TRIALS
    ;;
esac
set +f

for trial; do
    shift
    name=$(bare "$task/" "$(bare trials/ "$trial")")
    trials | grep -Fqx -e "$name" || fail "task '$task' has no trial '$trial' ($known_trials)"
    set -- "$@" "$task/$name"
done

sh scripts/setup.sh runtime || exit
srh=.venv/bin/srh
# ARGS is unquoted: it holds several options.
case $command in
eval)
    exec $srh eval "$task" "$@" $ARGS
    ;;
compare)
    # It needs results; those that are current are not made again.
    $srh eval "$task" "$@" >/dev/null || exit
    exec $srh compare "$@" $ARGS
    ;;
verify)
    [ $# -gt 0 ] || set -- --task "$task"
    exec $srh verify "$@" $ARGS
    ;;
esac
