#!/bin/bash
# Deliberate bugs that a few seeds show are shown by them, and the same seeds
# pass without.
set -euo pipefail
sim=$1
# found BUG SCENARIO LAST [FIRST]: by one of the seeds FIRST (1) to LAST
found() {
    local seed
    for ((seed = ${4:-1}; seed <= $3; seed++)); do
        "$sim" --scenario "$2" --seed "$seed" --bug "$1" >/dev/null 2>&1 ||
            return 0
    done
    echo "$1 is not found in seeds ${4:-1} to $3 of $2"
    exit 1
}
found chubby.ignore_sequencer lock 5
found chubby.touch_early lock 5
found replica.skip_sync members 1
found raft.count_old_term replica 7 7
found replica.accept_cut_log members 1
found gfs.answer_early files 3
found master.order_by_clock tables 17 17
found tablet.keep_rights tables 1
"$sim" --scenario lock --seed 1 --count 5
