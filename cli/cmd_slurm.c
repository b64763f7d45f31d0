/* quarry slurm: a cluster inside of a job of the workload manager Slurm, for as
 * long as a command runs. srun starts the nodes (slurm_node.h); this process
 * waits until they serve, runs the command with the cluster as its target, and
 * ends the nodes. The directory of a cluster on one machine (cluster_nodes.h)
 * is used as the place where all find each other, so that `-t cluster:DIR`
 * works on every host of the job.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "cli/cluster_status.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/slurm_node.h"

#define NODES_MAX      4096
#define SLURM_POLL_US  100000
#define SRUN_ARGS_MAX  24
#define SLURM_LEAVE_US UINT64_C(5000000)
/* The status of a command that a signal ended, as shells have it. */
#define SIGNALLED_STATUS 128

static const struct option slurm_options[] = {
    {"nodes", 'n', "N", "how many nodes there shall be (the job's hosts)"},
    {"dir", 0, "DIR", "which all hosts of the job see (./quarry-slurm-JOB)"},
    {NULL, 0, NULL, NULL},
};

static const struct option slurm_node_options[] = {
    {"data", 0, "DIR",
     "where nodes store, on their hosts ($SLURM_TMPDIR, $TMPDIR or /tmp)"},
    {"keep", 0, NULL, "do not remove what was stored, nor the nodes' logs"},
    {NULL, 0, NULL, NULL},
};

/* A cluster in a job. */
struct slurm_job {
    struct cli *cli;
    char *dir; /* Owned; absolute. */
    const char *data;
    bool keep;
    size_t count; /* Nodes. */
    pid_t srun;   /* 0: not started, or ended. */
    struct cluster cluster;
};

/* --- starting ------------------------------------------------------------ */

/* The directory for the nodes' files, made, with the cluster's key. */
static int make_job_dir(struct slurm_job *j, const char *name, struct err *err)
{
    struct buf b = BUF_INIT;
    char *real;
    int rc;
    if (name)
        buf_printf(&b, "%s", name);
    else
        buf_printf(&b, "quarry-slurm-%s", getenv("SLURM_JOB_ID"));
    rc = cluster_make_dir(buf_cstr(&b), err);
    real = rc ? NULL : realpath(buf_cstr(&b), NULL);
    if (rc == 0 && !real)
        rc = err_set_errno(err, errno, "%s", buf_cstr(&b));
    if (rc == 0) {
        j->dir = mem_strdup(real);
        buf_clear(&b);
        buf_printf(&b, "%s/key", j->dir);
        if (access(buf_cstr(&b), F_OK) == 0) {
            rc = err_set(err, ERR_EXISTS, "there is a cluster in %s", j->dir);
            err_hint(err, "remove it, or name another directory by --dir");
        }
    }
    if (rc == 0) {
        j->cluster.dir = mem_strdup(j->dir);
        rc = cluster_write_key(j->cli->world, &j->cluster, err);
    }
    free(real);
    buf_close(&b);
    return rc;
}

/* @pid: the program @argv[0], found by $PATH, in this process's group, with no
 * signal blocked. */
static int spawn_program(char *const argv[],
                         char *const environment[],
                         pid_t *pid,
                         struct err *err)
{
    posix_spawnattr_t attr;
    sigset_t none;
    int rc;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawnp(pid, argv[0], NULL, &attr, argv, environment);
    posix_spawnattr_destroy(&attr);
    return rc ? err_set_errno(err, rc, "run %s", argv[0]) : 0;
}

/* Start the nodes. They share processors and memory of the job with the
 * command, and one that fails ends no other. */
static int start_step(struct slurm_job *j, struct err *err)
{
    char self[PATH_MAX];
    char ntasks[32];
    char *argv[SRUN_ARGS_MAX];
    size_t n = 0;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len < 0)
        return err_set_errno(err, errno, "/proc/self/exe");
    self[len] = '\0';
    snprintf(ntasks, sizeof(ntasks), "--ntasks=%zu", j->count);
    const char *const words[] = {"srun",
                                 ntasks,
                                 "--overlap",
                                 "--mem=0",
                                 "--no-kill",
                                 "--kill-on-bad-exit=0",
                                 "--wait=0",
                                 "--input=none",
                                 "--distribution=cyclic",
                                 "--overcommit",
                                 "--cpu-bind=none",
                                 "--quiet",
                                 self,
                                 "slurm",
                                 "node",
                                 j->dir};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        argv[n++] = (char *)(uintptr_t)words[i];
    if (j->keep)
        argv[n++] = (char *)(uintptr_t) "--keep";
    if (j->data) {
        argv[n++] = (char *)(uintptr_t) "--data";
        argv[n++] = (char *)(uintptr_t)j->data;
    }
    argv[n] = NULL;
    PRE(n < SRUN_ARGS_MAX);
    int rc = spawn_program(argv, environ, &j->srun, err);
    if (rc)
        err_hint(err, "srun comes with Slurm");
    return rc;
}

/* Has srun ended? All its nodes have, then. */
static bool has_step_ended(struct slurm_job *j)
{
    if (j->srun && waitpid(j->srun, NULL, WNOHANG) == j->srun)
        j->srun = 0;
    return j->srun == 0;
}

/* How many nodes of the job have written their configuration? */
static size_t count_configured(const struct slurm_job *j)
{
    size_t found = 0;
    for (size_t i = 0; i < j->count; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/n%zu/server.conf", j->dir, i + 1);
        found += access(buf_cstr(&path), F_OK) == 0;
        buf_close(&path);
    }
    return found;
}

static bool does_node_answer(struct slurm_job *j, const struct cluster_node *n)
{
    struct buf ignored = BUF_INIT;
    int rc = cluster_ask_node(j->cli, &j->cluster, n, &ignored, NULL);
    buf_close(&ignored);
    return rc == 0;
}

/* How far is the start? *@missing: what is waited for; NULL: nothing. */
static int look_at_start(struct slurm_job *j,
                         size_t *answered,
                         const char **missing,
                         struct err *err)
{
    int rc = 0;
    *missing = "configuration of a node";
    if (count_configured(j) < j->count)
        return 0;
    if (j->cluster.node_count == 0) {
        cluster_close(&j->cluster);
        rc = cluster_open(j->dir, &j->cluster, err);
    }
    *missing = "answer of a node";
    while (rc == 0 && *answered < j->cluster.node_count) {
        if (!does_node_answer(j, &j->cluster.nodes[*answered]))
            return 0;
        ++*answered;
    }
    return rc ? rc : cluster_find_leaderless(j->cli, &j->cluster, missing, err);
}

static int await_start(struct slurm_job *j, struct err *err)
{
    const char *missing = "";
    size_t answered = 0;
    uint64_t us;
    int rc = remote_timeout(SLURM_START_US, &us, err);
    uint64_t until_ns = world_mono_ns(j->cli->world) + us * 1000;
    while (rc == 0) {
        rc = look_at_start(j, &answered, &missing, err);
        if (rc || !missing)
            return rc;
        if (has_step_ended(j))
            rc = err_set(err, ERR_UNAVAILABLE, "srun ended, and its nodes did");
        else if (world_mono_ns(j->cli->world) >= until_ns)
            rc = err_set(err, ERR_DEADLINE,
                         "the cluster does not serve yet, for want of a %s",
                         missing);
        else
            world_sleep_us(j->cli->world, SLURM_POLL_US);
    }
    err_hint(err,
             "see %s/n*/out and log; all hosts must see that directory, and "
             "$QUARRY_TIMEOUT says how long to wait",
             j->dir);
    return rc;
}

/* --- the command --------------------------------------------------------- */

/* The signals for which this process waits while others run. */
static void block_job_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigprocmask(SIG_BLOCK, set, NULL);
}

/* Wait for the command @pid, pass on what ends this job, and end the command
 * when it has no cluster any more. Ctrl-C reaches the command by itself. */
static int await_command(struct slurm_job *j, pid_t pid, const sigset_t *set)
{
    int status = 0;
    bool said = false;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        int number = 0;
        if (sigwait(set, &number) != 0)
            continue;
        if (number == SIGTERM || number == SIGHUP)
            kill(pid, number);
        if (number == SIGCHLD && !said && has_step_ended(j)) {
            said = true;
            cli_remark(j->cli,
                       "all nodes of the cluster have ended: the command "
                       "is ended, too");
            kill(pid, SIGTERM);
        }
    }
    return status;
}

static int run_command(struct slurm_job *j,
                       const struct args *args,
                       const sigset_t *set,
                       struct err *err)
{
    char **argv = mem_zalloc(args->word_count + 1, sizeof(*argv));
    struct buf target = BUF_INIT;
    pid_t pid = 0;
    int rc = 0;
    for (size_t i = 0; i < args->word_count; i++)
        argv[i] = (char *)(uintptr_t)args->words[i];
    buf_printf(&target, "cluster:%s", j->dir);
    if (setenv("QUARRY_TARGET", buf_cstr(&target), 1) < 0)
        rc = err_set_errno(err, errno, "set QUARRY_TARGET");
    if (rc == 0)
        rc = spawn_program(argv, environ, &pid, err);
    if (rc == 0) {
        int status = await_command(j, pid, set);
        j->cli->status = WIFSIGNALED(status)
                             ? SIGNALLED_STATUS + WTERMSIG(status)
                             : WEXITSTATUS(status);
    }
    buf_close(&target);
    mem_free(argv);
    return rc;
}

/* --- the end ------------------------------------------------------------- */

static bool has_node_left(struct slurm_job *j, const struct cluster_node *n)
{
    struct buf text = BUF_INIT;
    bool left = cluster_ask_node(j->cli, &j->cluster, n, &text, NULL) != 0 ||
                strstr(buf_cstr(&text), " left=yes\n") != NULL;
    buf_close(&text);
    return left;
}

/* Stores that are kept are left in order: all roles leave while the cell runs.
 */
static void leave_cluster(struct slurm_job *j)
{
    uint64_t until_ns = world_mono_ns(j->cli->world) + SLURM_LEAVE_US * 1000;
    kill(j->srun, SIGUSR2);
    for (size_t i = 0; i < j->cluster.node_count; i++)
        while (!has_node_left(j, &j->cluster.nodes[i]) &&
               world_mono_ns(j->cli->world) < until_ns)
            world_sleep_us(j->cli->world, SLURM_POLL_US);
}

/* End the nodes, and wait until srun has. Slurm itself ends those that take too
 * long, when the job ends. */
static void end_step(struct slurm_job *j)
{
    if (has_step_ended(j))
        return;
    if (j->keep)
        leave_cluster(j);
    kill(j->srun, SLURM_END_SIGNAL);
    while (j->srun && waitpid(j->srun, NULL, 0) < 0 && errno == EINTR)
        ;
    j->srun = 0;
}

/* Remove the nodes' files of a cluster that is gone. */
static void remove_job_dir(const struct slurm_job *j)
{
    static const char *const names[] = {"address", "server.conf", "log", "out"};
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < j->count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            buf_clear(&path);
            buf_printf(&path, "%s/n%zu/%s", j->dir, i + 1, names[k]);
            (void)unlink(buf_cstr(&path));
        }
        buf_clear(&path);
        buf_printf(&path, "%s/n%zu", j->dir, i + 1);
        (void)rmdir(buf_cstr(&path));
    }
    buf_clear(&path);
    buf_printf(&path, "%s/key", j->dir);
    (void)unlink(buf_cstr(&path));
    (void)rmdir(j->dir);
    buf_close(&path);
}

/* --- commands ------------------------------------------------------------ */

static int run_slurm(struct cli *cli, const struct args *args, struct err *err)
{
    struct slurm_job j = {.cli = cli,
                          .data = args_value(args, "data"),
                          .keep = args_flag(args, "keep")};
    uint64_t count = 0;
    sigset_t set;
    int rc = args_number(args, "nodes", 1, NODES_MAX, &count, err);
    if (rc)
        return rc;
    if (!getenv("SLURM_JOB_ID")) {
        err_set(err, ERR_INVALID, "this is not inside of a Slurm job");
        err_hint(err, "salloc -N 3 quarry slurm %s, or in a script for sbatch",
                 args->words[0]);
        return ERR_INVALID;
    }
    j.count = (size_t)count;
    if (count == 0)
        rc = slurm_number("SLURM_JOB_NUM_NODES", &j.count, err);
    if (rc == 0 && (j.count == 0 || j.count > NODES_MAX))
        rc = err_set(err, ERR_INVALID, "a cluster of %zu nodes", j.count);
    if (rc == 0)
        rc = make_job_dir(&j, args_value(args, "dir"), err);
    if (rc == 0) {
        block_job_signals(&set);
        rc = start_step(&j, err);
        if (rc == 0)
            rc = await_start(&j, err);
        if (rc == 0)
            rc = run_command(&j, args, &set, err);
        end_step(&j);
        if (rc == 0 && !j.keep)
            remove_job_dir(&j);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    }
    cluster_close(&j.cluster);
    mem_free(j.dir);
    return rc;
}

static int
run_slurm_node(struct cli *cli, const struct args *args, struct err *err)
{
    struct slurm_node node = {.dir = args->words[0],
                              .data = args_value(args, "data"),
                              .keep = args_flag(args, "keep")};
    return slurm_node_run(cli->world, &node, err);
}

const struct command slurm_commands[] = {
    {.name = "slurm",
     .arguments = "[--] COMMAND [ARGUMENT…]",
     .summary = "Run a command with a cluster on the hosts of a Slurm job",
     .details =
         "Inside of a job (sbatch, salloc): starts a node on each host, or "
         "N nodes,\nwaits until they serve ($QUARRY_TIMEOUT, else 60s), runs "
         "COMMAND with\n$QUARRY_TARGET set to the cluster, ends the nodes, and "
         "ends with COMMAND's status.\nWhat was stored is removed, unless "
         "--keep; DIR must lie where all hosts see it.",
     .examples = "quarry slurm ./crawl.sh\n"
                 "sbatch -N 8 --wrap 'quarry slurm ./crawl.sh'\n"
                 "salloc -N 3 quarry slurm bash",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {slurm_options, slurm_node_options},
     .run = run_slurm},
    {.name = "slurm node",
     .arguments = "DIR",
     .summary = "Run one node of a cluster of `quarry slurm`, which starts it",
     .examples = "quarry slurm node quarry-slurm-17  # by srun --ntasks=3",
     .words_min = 1,
     .words_max = 1,
     .options = {slurm_node_options},
     .run = run_slurm_node},
    {.name = NULL},
};
