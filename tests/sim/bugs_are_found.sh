#!/bin/bash
# Deliberate bugs are found: for each, seeds are walked from 1 on until one shows
# it, and that seed passes without the bug.
set -euo pipefail
sim=$1
# Every bug is found within this number of seeds of its scenario.
most=200
# Seeds of scenarios that passed without a bug.
declare -A passed
# found BUG SCENARIO
found() {
    local seed
    for ((seed = 1; seed <= most; seed++)); do
        "$sim" --scenario "$2" --seed "$seed" --bug "$1" >/dev/null 2>&1 &&
            continue
        echo "$1 is found by seed $seed of $2"
        [ -n "${passed[$2 $seed]:-}" ] || "$sim" --scenario "$2" --seed "$seed"
        passed[$2 $seed]=yes
        return
    done
    echo "$1 is not found in seeds 1 to $most of $2"
    exit 1
}
found chubby.ignore_sequencer lock
found chubby.touch_early lock
found replica.skip_sync replica
found replica.forget_file_bytes members
found replica.count_the_dead members
found raft.count_old_term replica
found gfs.answer_early files
found gfs.skip_path_check files
found tablet.keep_rights tables
found tablet.forget_done tables
found master.order_by_clock clocks
found txn.skip_newer_commits transactions
found txn.roll_back_committed transactions
found view.save_first views
found view.keep_what_was views
