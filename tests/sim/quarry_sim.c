/* quarry-sim: simulated clusters under faults, one seed after another.
 *
 *     quarry-sim [--scenario NAME] [--seed N] [--count K] [--bug NAME]
 *                [--trace] [--list]
 *
 * The same build, scenario, seed and bug give the same run, step by step: the
 * line of a run says how many steps it had and a digest of them.
 *
 *     ok cell 7 events=812345 digest=0123456789abcdef faults=31 …
 *
 * With --count each seed runs in a process of its own, and those that fail are
 * listed at the end, with the command that runs them again. --bug arms a
 * deliberate bug of the product (base/core/fault.h). Exit status: 0 all passed,
 * 1 one failed, 2 used wrongly.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/core/text.h"
#include "base/sim/sim_cluster.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"

#define COUNT_MAX 1000000

static const struct scenario *const scenarios[] = {
    &scenario_cell,       &scenario_lock,      &scenario_files,
    &scenario_replica,    &scenario_members,   &scenario_tables,
    &scenario_clocks,     &scenario_jobs,      &scenario_transactions,
    &scenario_views,      &scenario_observers, &scenario_changes,
    &scenario_replication};

/* Deliberate bugs, for --list: each with the scenario that shows it soonest. */
static const struct {
    const char *name;
    const struct scenario *scenario;
    const char *what;
} bugs[] = {
    {"replica.skip_sync", &scenario_replica,
     "the replicated log skips its flush to the disk"},
    {"replica.accept_cut_log", &scenario_members,
     "a log that lacks what was on the disk is taken as it is"},
    {"replica.forget_file_bytes", &scenario_members,
     "a log whose file became shorter is taken as it is"},
    {"replica.count_the_dead", &scenario_members,
     "a member is removed although another that is needed is dead"},
    {"raft.count_old_term", &scenario_replica,
     "a leader commits entries of old terms by counting"},
    {"chubby.ignore_sequencer", &scenario_lock,
     "any sequencer is taken for a valid one"},
    {"chubby.touch_early", &scenario_lock,
     "what a command changes is worked out once, and nothing keeps it so"},
    {"gfs.keep_version", &scenario_files,
     "a recovery does not raise the chunk's version"},
    {"gfs.answer_early", &scenario_files,
     "a write is acknowledged before the last replica"},
    {"gfs.skip_path_check", &scenario_files,
     "nobody looks whether a caller may pass through directories"},
    {"gfs.keep_grants", &scenario_files,
     "what an owner gave outlives his ownership"},
    {"gfs.trust_old_proof", &scenario_files,
     "a proof of rights to a chunk never ends"},
    {"tablet.skip_log_sync", &scenario_tables,
     "a change is acknowledged before it is logged"},
    {"tablet.serve_without_lock", &scenario_tables,
     "a tablet server answers although its lock may be lost"},
    {"tablet.hide_split", &scenario_tables, "a split is not written down"},
    {"tablet.keep_rights", &scenario_tables,
     "a right that was taken away is kept"},
    {"tablet.skip_last_segment", &scenario_tables,
     "a recovery leaves out a log's last segment"},
    {"tablet.forget_done", &scenario_tables,
     "a change that is tried again is made again"},
    {"master.trust_silence", &scenario_tables,
     "a silent tablet server is taken for dead, its lock untouched"},
    {"master.order_by_clock", &scenario_clocks,
     "the master's clock orders what it writes into METADATA"},
    {"view.save_first", &scenario_views,
     "a view's place is saved before what was read is applied"},
    {"view.keep_what_was", &scenario_views,
     "what a row contributed before is not taken back from sums"},
    {"txn.skip_newer_commits", &scenario_transactions,
     "a transaction does not look for commits since it began"},
    {"txn.skip_second_look", &scenario_transactions,
     "a serialisable transaction does not look again at what it read"},
    {"txn.roll_back_committed", &scenario_transactions,
     "locks of a transaction whose primary is committed are rolled back"},
    {"txn.read_unsettled", &scenario_observers,
     "plain reads do not finish committed transactions that they meet"},
    {"observer.save_apart", &scenario_observers,
     "an observer's place is saved after its effects, by itself"},
    {"observer.begin_early", &scenario_observers,
     "an observer reads a row as it may have been before its change"},
    {"index.skip_building", &scenario_observers,
     "writers leave an index alone that is being built"},
    {"index.ignore_claims", &scenario_observers,
     "a value of a unique index is taken although another row has it"},
    {"changes.keep_nothing", &scenario_changes,
     "tables that a compaction replaces are not kept for readers of changes"},
    {"changes.tell_unsynced", &scenario_changes,
     "changes are told before they are synced"},
    {"changes.forget_row", &scenario_changes,
     "a reader that continues within a row is told its beginning again"},
    {"changes.early_watermark", &scenario_changes,
     "a watermark does not wait for commits that have their times"},
    {"replication.last_wins", &scenario_replication,
     "a commit that arrives is taken as the last, whenever it was made"},
    {"replication.forget_deletions", &scenario_replication,
     "what was deleted comes back when its commit arrives late"},
};

struct choice {
    const struct scenario *scenario;
    const char *bug;
    uint64_t seed;
    uint64_t count;
    bool trace;
};

/* --- one run ------------------------------------------------------------- */

struct run {
    struct storm storm;
    const struct choice *choice;
    struct buf figures;
};

static void direct(void *arg)
{
    struct run *r = arg;
    r->choice->scenario->run(&r->storm, &r->figures);
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    printf("%s\n", line);
}

static void run_seed(const struct choice *c, uint64_t seed)
{
    struct run r = {.choice = c, .figures = BUF_INIT};
    r.storm.scenario = c->scenario->name;
    r.storm.seed = seed;
    r.storm.sim = sim_cluster_new(seed);
    rand_init(&r.storm.rand, seed ^ 0x73746f726d);
    if (c->trace)
        sim_cluster_on_trace(r.storm.sim, print_line, NULL);
    storm_running = &r.storm;
    sim_cluster_run(r.storm.sim, direct, &r);
    storm_running = NULL;
    if (c->bug)
        buf_printf(&r.figures, " bug_hits=%" PRIu64, fault_hit_count(c->bug));
    printf("ok %s %" PRIu64 " events=%" PRIu64 " digest=%016" PRIx64 "%s\n",
           c->scenario->name, seed, sim_cluster_event_count(r.storm.sim),
           sim_cluster_digest(r.storm.sim), buf_cstr(&r.figures));
    fflush(stdout);
    buf_close(&r.figures);
    sim_cluster_free(r.storm.sim);
}

/* --- many ---------------------------------------------------------------- */

/* In a process of its own: one that fails, or that an assertion ends, takes no
 * other with it. */
static bool run_apart(const struct choice *c, uint64_t seed)
{
    int status = 1;
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        run_seed(c, seed);
        exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int run_many(const struct choice *c)
{
    struct buf failed = BUF_INIT;
    uint64_t count = 0;
    for (uint64_t seed = c->seed; seed < c->seed + c->count; seed++) {
        if (run_apart(c, seed))
            continue;
        count++;
        buf_printf(&failed,
                   "FAIL %s %" PRIu64 ": again with quarry-sim --scenario %s "
                   "--seed %" PRIu64 "%s%s\n",
                   c->scenario->name, seed, c->scenario->name, seed,
                   c->bug ? " --bug " : "", c->bug ? c->bug : "");
    }
    printf("%s%s: seeds %" PRIu64 " to %" PRIu64 ", %" PRIu64 " failed\n",
           buf_cstr(&failed), c->scenario->name, c->seed,
           c->seed + c->count - 1, count);
    buf_close(&failed);
    return count > 0;
}

/* --- the command line ---------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr, "usage: quarry-sim [--scenario NAME] [--seed N] [--count K]"
                    " [--bug NAME] [--trace] [--list]\n");
    return 2;
}

static int list(void)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        printf("scenario %-24s %s\n", scenarios[i]->name, scenarios[i]->what);
    for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
        printf("bug      %-24s %-12s %s\n", bugs[i].name,
               bugs[i].scenario->name, bugs[i].what);
    return 0;
}

static bool parse_number(const char *s, uint64_t *out)
{
    return text_parse_u64(slice_str(s), out, NULL) == 0;
}

static bool parse_scenario(const char *s, const struct scenario **out)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        if (strcmp(s, scenarios[i]->name) == 0) {
            *out = scenarios[i];
            return true;
        }
    return false;
}

static bool is_bug(const char *s)
{
    for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
        if (strcmp(s, bugs[i].name) == 0)
            return true;
    return false;
}

/* One option with its value. */
static bool take_option(struct choice *c, const char *name, const char *value)
{
    if (strcmp(name, "--scenario") == 0)
        return parse_scenario(value, &c->scenario);
    if (strcmp(name, "--seed") == 0)
        return parse_number(value, &c->seed);
    if (strcmp(name, "--count") == 0)
        return parse_number(value, &c->count) && c->count > 0 &&
               c->count <= COUNT_MAX;
    if (strcmp(name, "--bug") == 0) {
        c->bug = value;
        return is_bug(value);
    }
    return false;
}

int main(int argc, char **argv)
{
    struct choice c = {.scenario = &scenario_cell, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            return list();
        if (strcmp(argv[i], "--trace") == 0)
            c.trace = true;
        else if (i + 1 == argc || !take_option(&c, argv[i], argv[i + 1]))
            return usage();
        else
            i++;
    }
    if (c.bug)
        fault_arm(c.bug, 1, UINT64_MAX);
    if (c.count)
        return run_many(&c);
    run_seed(&c, c.seed);
    return 0;
}
