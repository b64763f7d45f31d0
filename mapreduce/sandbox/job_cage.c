/* The rules of a job's cage, collected from its options: side files, shared
 * object, working directory, and the paths that its commands name.
 *
 * Only paths that the user could read anyway are shown; keys and stores
 * (options.hidden) are hidden even where they are inside a visible directory.
 */
#define _GNU_SOURCE

#include "mapreduce/sandbox/job_cage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/sandbox/cage.h"
#include "mapreduce/sandbox/sandbox.h"
#include "mapreduce/task/job_setup.h"
#include "mapreduce/task/task_spec.h"

/* Bounds the time the kernel mounts for a command with many words. */
#define PATHS_MAX 200
/* For the mapping of pairs, which is rounded up. */
#define SPARE_BYTES ((uint64_t)2 << 20)
/* The user that attempts run as, where this process is root. */
#define NOBODY 65534U

struct job_cage {
    struct cage_rules rules;
    struct sandbox *sandbox;
    bool own;                 /* On the machine of the job's user. */
    char directory[PATH_MAX]; /* "": not visible. */
    const struct job_setup *setup;
    size_t lasting;                       /* Of `visible`: for all attempts. */
    struct cage_path visible[PATHS_MAX];  /* Both strings owned. */
    struct cage_path writable[PATHS_MAX]; /* Likewise. */
    char *hidden[PATHS_MAX];              /* Owned. */
};

enum job_trust job_trust_of(const struct mr_program *p)
{
    if (p->object && !p->job)
        return JOB_OBJECT;
    return p->mapper || p->reducer ? JOB_COMMANDS : JOB_TRUSTED;
}

bool job_is_relayed(const struct job_setup *s)
{
    return (s->cell_files || s->files.fs) && !s->opts->no_sandbox &&
           job_trust_of(&s->opts->program) == JOB_OBJECT;
}

/* @path as an absolute one. Owned. */
static char *job_cage_absolute(const char *path)
{
    struct buf b = BUF_INIT;
    char here[PATH_MAX];
    if (path[0] != '/' && getcwd(here, sizeof(here)))
        buf_printf(&b, "%s/", strcmp(here, "/") == 0 ? "" : here);
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    buf_append_str(&b, path);
    return buf_take(&b);
}

/* Is @path readable by everybody? Copies that a worker made for the job are; a
 * user's own files stay as they are. */
static bool open_to_nobody(const struct job_cage *c, const char *path)
{
    struct stat st;
    mode_t needed = 0;
    if (stat(path, &st) != 0)
        return true;
    needed = S_ISDIR(st.st_mode) ? 0005 : 0004;
    if ((st.st_mode & needed) == needed)
        return true;
    return !c->own && chmod(path, (st.st_mode & 07777) | 0444) == 0;
}

static void job_cage_show(struct job_cage *c, const char *path)
{
    PRE(c->rules.visible_count <= PATHS_MAX);
    struct cage_path *p = &c->visible[c->rules.visible_count];
    char real[PATH_MAX];
    if (c->rules.visible_count == PATHS_MAX || !realpath(path, real))
        return;
    if (geteuid() == 0 && !open_to_nobody(c, real))
        c->rules.stay = c->own;
    *p = (struct cage_path){mem_strdup(real), job_cage_absolute(path)};
    c->rules.visible_count++;
}

static void job_cage_hide(struct job_cage *c, const char *path)
{
    char real[PATH_MAX];
    if (path && c->rules.hidden_count < PATHS_MAX && realpath(path, real))
        c->hidden[c->rules.hidden_count++] = mem_strdup(real);
}

/* Show the files that words of @command name. A shell would split words in more
 * ways; a file that is not found here must be passed by --file. */
static void show_words(struct job_cage *c, const char *command)
{
    static const char ends[] = " \t\n\"'`;|&<>()=";
    char *text = mem_strdup(command ? command : "");
    char *rest = text;
    char *word;
    struct stat st;
    while ((word = strtok_r(rest, ends, &rest)) != NULL)
        if (strchr(word, '/') && stat(word, &st) == 0 && S_ISREG(st.st_mode))
            job_cage_show(c, word);
    mem_free(text);
}

static bool is_directory(const char *target)
{
    return target && strncmp(target, "file:", 5) == 0;
}

/* Show what a user expects of code run on his own machine. */
static void show_own(struct job_cage *c, const struct job_setup *s)
{
    const struct mr_program *p = &s->opts->program;
    if (getcwd(c->directory, sizeof(c->directory))) {
        c->rules.directory = c->directory;
        job_cage_show(c, c->directory);
    }
    show_words(c, p->mapper);
    show_words(c, p->reducer);
    show_words(c, p->combiner);
    job_cage_hide(c, s->opts->history_dir);
    for (size_t i = 0; i < s->opts->hidden_count; i++)
        job_cage_hide(c, s->opts->hidden[i]);
    if (is_directory(s->target) &&
        (job_trust_of(p) != JOB_OBJECT || !s->reads_tables))
        job_cage_hide(c, s->target + 5);
}

static int make_filter(struct job_cage *c,
                       const struct job_setup *s,
                       bool network,
                       bool weak,
                       struct err *err)
{
    const struct mr_options *o = s->opts;
    struct sandbox_rules rules = {
        .user_code = true,
        .runtime = job_trust_of(&o->program) == JOB_OBJECT,
        .data_bytes = s->heap_bytes + s->slot_bytes + SPARE_BYTES,
        .file_bytes = o->file_bytes,
        .cpu_us = o->cpu_us,
        .network = network,
    };
    if (weak) {
        rules.supervisors[0] = getpid();
        rules.supervisors[1] = getppid();
    }
    return sandbox_new(&rules, &c->sandbox, err);
}

int job_cage_new(const struct job_setup *s,
                 bool network,
                 struct job_cage **out,
                 struct err *err)
{
    struct job_cage *c = mem_zalloc(1, sizeof(*c));
    const struct mr_options *o = s->opts;
    bool weak = s->weak_sandbox || (s->user_files && o->weak_sandbox);
    int rc = make_filter(c, s, network, weak, err);
    c->rules = (struct cage_rules){
        .visible = c->visible,
        .writable = c->writable,
        .hidden = (const char *const *)c->hidden,
        .scratch_bytes = s->heap_bytes,
        .processes_max = o->processes_max,
        .network = network,
        .weak = weak,
        .sandbox = c->sandbox,
    };
    c->own = s->user_files;
    if (o->program.object)
        job_cage_show(c, o->program.object);
    for (size_t i = 0; i < o->file_count; i++)
        job_cage_show(c, o->files[i].value);
    if (s->user_files)
        show_own(c, s);
    c->setup = s;
    c->lasting = c->rules.visible_count;
    if (rc) {
        job_cage_free(c);
        c = NULL;
    }
    *out = c;
    return rc;
}

static void drop_paths(struct cage_path *p, size_t from, size_t *count)
{
    for (; *count > from; --*count) {
        mem_free((void *)(uintptr_t)p[*count - 1].real);
        mem_free((void *)(uintptr_t)p[*count - 1].at);
    }
}

/* Show a directory that attempts write to. Root's stay root's, and so does the
 * process that writes there. */
static void open_directory(struct job_cage *c, const char *path)
{
    PRE(c->rules.writable_count <= PATHS_MAX);
    struct cage_path *p = &c->writable[c->rules.writable_count];
    char real[PATH_MAX];
    if (c->rules.writable_count == PATHS_MAX || !realpath(path, real))
        return;
    if (geteuid() == 0 && c->own)
        c->rules.stay = true;
    else if (geteuid() == 0 && chown(real, NOBODY, NOBODY) != 0)
        c->rules.stay = true;
    *p = (struct cage_path){mem_strdup(real), job_cage_absolute(path)};
    c->rules.writable_count++;
}

void job_cage_aim(struct job_cage *c, const struct task_spec *spec)
{
    PRE(c->rules.visible_count >= c->lasting);
    const struct job_setup *s = c->setup;
    drop_paths(c->visible, c->lasting, &c->rules.visible_count);
    drop_paths(c->writable, 0, &c->rules.writable_count);
    if (!spec)
        return;
    open_directory(c, s->work_dir);
    for (size_t i = 0; i < s->output_count && !s->cell_files; i++)
        open_directory(c, s->staging[i]);
    for (size_t i = 0; i < spec->splits.count && !s->cell_files; i++)
        if (spec->splits.at[i].path)
            job_cage_show(c, spec->splits.at[i].path);
    for (size_t i = 0; i < spec->file_count; i++)
        job_cage_show(c, spec->files[i]);
    if (s->reads_tables && is_directory(s->target))
        job_cage_show(c, s->target + 5);
}

void job_cage_free(struct job_cage *c)
{
    if (!c)
        return;
    drop_paths(c->visible, 0, &c->rules.visible_count);
    drop_paths(c->writable, 0, &c->rules.writable_count);
    for (size_t i = 0; i < c->rules.hidden_count; i++)
        mem_free(c->hidden[i]);
    sandbox_free(c->sandbox);
    mem_free(c);
}

const struct cage_rules *job_cage_rules(const struct job_cage *c)
{
    return &c->rules;
}
