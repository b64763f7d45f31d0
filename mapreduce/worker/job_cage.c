/* Collecting paths. */
#define _GNU_SOURCE

#include "mapreduce/worker/job_cage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/task.h"
#include "mapreduce/worker/cage.h"
#include "mapreduce/worker/sandbox.h"

/* Bounds how long a kernel mounts for a command with many words. */
#define PATHS_MAX 48

struct job_cage {
    struct cage_rules rules;
    struct sandbox *sandbox;
    bool own;                            /* On the machine of the job's user. */
    char directory[PATH_MAX];            /* "": not to be seen. */
    struct cage_path visible[PATHS_MAX]; /* Both strings owned. */
    char *hidden[PATHS_MAX];             /* Owned. */
};

enum job_trust job_trust_of(const struct mr_program *p)
{
    if (p->object && !p->job)
        return JOB_OBJECT;
    return p->mapper || p->reducer ? JOB_COMMANDS : JOB_TRUSTED;
}

/* @path as an absolute one. Owned. */
static char *absolute(const char *path)
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

/* Can nobody read @path? Copies that a worker made for the job are made so; a
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

static void show(struct job_cage *c, const char *path)
{
    struct cage_path *p = &c->visible[c->rules.visible_count];
    char real[PATH_MAX];
    if (c->rules.visible_count == PATHS_MAX || !realpath(path, real))
        return;
    if (geteuid() == 0 && !open_to_nobody(c, real))
        c->rules.stay = c->own;
    *p = (struct cage_path){mem_strdup(real), absolute(path)};
    c->rules.visible_count++;
}

static void hide(struct job_cage *c, const char *path)
{
    char real[PATH_MAX];
    if (path && c->rules.hidden_count < PATHS_MAX && realpath(path, real))
        c->hidden[c->rules.hidden_count++] = mem_strdup(real);
}

/* The files that words of @command name. A shell would take words apart in
 * other ways, too; a file that this does not find goes along as --file. */
static void show_words(struct job_cage *c, const char *command)
{
    static const char ends[] = " \t\n\"'`;|&<>()=";
    char *text = mem_strdup(command ? command : "");
    char *rest = text;
    char *word;
    struct stat st;
    while ((word = strtok_r(rest, ends, &rest)) != NULL)
        if (strchr(word, '/') && stat(word, &st) == 0 && S_ISREG(st.st_mode))
            show(c, word);
    mem_free(text);
}

/* What its user would expect his own code to find. */
static void show_own(struct job_cage *c, const struct job_setup *s)
{
    const struct mr_program *p = &s->opts->program;
    if (getcwd(c->directory, sizeof(c->directory))) {
        c->rules.directory = c->directory;
        show(c, c->directory);
    }
    show_words(c, p->mapper);
    show_words(c, p->reducer);
    show_words(c, p->combiner);
    hide(c, s->opts->history_dir);
    for (size_t i = 0; i < s->opts->hidden_count; i++)
        hide(c, s->opts->hidden[i]);
    if (s->target && strncmp(s->target, "file:", 5) == 0)
        hide(c, s->target + 5);
}

static int make_filter(struct job_cage *c,
                       const struct job_setup *s,
                       bool weak,
                       struct err *err)
{
    const struct mr_options *o = s->opts;
    struct sandbox_rules rules = {
        .user_code = true,
        .data_bytes = s->heap_bytes + s->slot_bytes,
        .file_bytes = o->file_bytes,
        .cpu_us = o->cpu_us,
        .network = o->network,
    };
    if (weak) {
        rules.keepers[0] = getpid();
        rules.keepers[1] = getppid();
    }
    return sandbox_new(&rules, &c->sandbox, err);
}

int job_cage_new(const struct job_setup *s,
                 struct job_cage **out,
                 struct err *err)
{
    struct job_cage *c = mem_zalloc(1, sizeof(*c));
    const struct mr_options *o = s->opts;
    bool weak = s->weak_sandbox || (s->user_files && o->weak_sandbox);
    int code = make_filter(c, s, weak, err);
    c->rules = (struct cage_rules){
        .visible = c->visible,
        .hidden = (const char *const *)c->hidden,
        .scratch_bytes = s->heap_bytes,
        .processes_max = o->processes_max,
        .network = o->network,
        .weak = weak,
        .sandbox = c->sandbox,
    };
    c->own = s->user_files;
    if (o->program.object)
        show(c, o->program.object);
    for (size_t i = 0; i < o->file_count; i++)
        show(c, o->files[i].value);
    if (s->user_files)
        show_own(c, s);
    if (code) {
        job_cage_free(c);
        c = NULL;
    }
    *out = c;
    return code;
}

void job_cage_free(struct job_cage *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->rules.visible_count; i++) {
        mem_free((void *)(uintptr_t)c->visible[i].real);
        mem_free((void *)(uintptr_t)c->visible[i].at);
    }
    for (size_t i = 0; i < c->rules.hidden_count; i++)
        mem_free(c->hidden[i]);
    sandbox_free(c->sandbox);
    mem_free(c);
}

const struct cage_rules *job_cage_rules(const struct job_cage *c)
{
    return &c->rules;
}
