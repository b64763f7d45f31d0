#!/bin/bash
# Deliberate bugs are found: for each, seeds are walked from 1 on until one shows
# it, and that seed passes without the bug. Those that take long to show are left to
# scripts/simulate --bugs.
set -euo pipefail
sim=$1
# Every bug is found within this number of seeds of its scenario.
most=200
# Seeds of scenarios that passed without a bug.
declare -A passed
# found BUG: in the scenario that --list names for it.
found() {
    local bug=$1 scenario seed
    scenario=$("$sim" --list | awk -v bug="$bug" '$1 == "bug" && $2 == bug { print $3 }')
    [ -n "$scenario" ] || { echo "$bug: quarry-sim --list does not have it" && exit 1; }
    for ((seed = 1; seed <= most; seed++)); do
        "$sim" --scenario "$scenario" --seed "$seed" --bug "$bug" >/dev/null 2>&1 &&
            continue
        echo "$bug is found by seed $seed of $scenario"
        [ -n "${passed[$scenario $seed]:-}" ] ||
            "$sim" --scenario "$scenario" --seed "$seed"
        passed[$scenario $seed]=yes
        return
    done
    echo "$bug is not found in seeds 1 to $most of $scenario"
    exit 1
}
found chubby.ignore_sequencer
found chubby.touch_early
found replica.skip_sync
found replica.forget_file_bytes
found replica.count_the_dead
found raft.count_old_term
found gfs.answer_early
found gfs.skip_path_check
found tablet.keep_rights
found tablet.forget_done
found master.order_by_clock
found txn.skip_newer_commits
found txn.roll_back_committed
found view.save_first
found view.keep_what_was
found txn.read_unsettled
found observer.save_apart
found observer.begin_early
found index.skip_building
found index.ignore_claims
found changes.keep_nothing
found changes.tell_unsynced
found changes.forget_row
found changes.early_watermark
found replication.last_wins
found replication.forget_deletions
