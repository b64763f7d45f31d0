/* Nodes on other hosts. A few shell commands by ssh do the work there; --print
 * shows them instead: the settings and the key of a new node, its
 * start and its stop. A node is drained before it is stopped: its chunks have
 * all their copies elsewhere, and its tablets are handed over by its stop.
 */
#include "cli/cluster_hosts.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/slice.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cluster_reach.h"
#include "cli/command.h"
#include "cli/monitor/subject.h"
#include "cli/remote_call.h"
#include "cli/server_host.h"
#include "gfs-lite/gfs.h"

#define PORT_DEFAULT  "7400"
#define ROLES_DEFAULT "chunk,tablet,worker"
#define CALL_US       UINT64_C(5000000)
#define START_US      UINT64_C(60000000)
#define DRAIN_POLL_US UINT64_C(500000)
/* So long without a copy under way means that there is no place for one. */
#define DRAIN_US UINT64_C(60000000)

static const struct option add_options[] = {
    {"roles", 0, "LIST", "what it is (chunk,tablet,worker)"},
    {"rack", 0, "NAME", "where it stands"},
    {"dir", 0, "DIR",
     "all of the node is below DIR there, and is started by\nquarry server; "
     "without, the package's places and systemd"},
    {"print", 0, NULL, "print the commands, and run none"},
    {NULL, 0, NULL, NULL},
};

static const struct option remove_options[] = {
    {"dir", 0, "DIR", "as it was added with"},
    {"print", 0, NULL, "print the commands, and run none"},
    {NULL, 0, NULL, NULL},
};

/* --- scripts ------------------------------------------------------------- */

/* A word of a shell. */
static void put_word(const char *text, struct buf *out)
{
    buf_append_byte(out, '\'');
    for (const char *p = text; *p; p++)
        if (*p == '\'')
            buf_append_str(out, "'\\''");
        else
            buf_append_byte(out, *p);
    buf_append_byte(out, '\'');
}

/* "${QUARRY_SSH:-ssh} HOST COMMAND" without its end. */
static void put_ssh(const char *host, const char *command, struct buf *out)
{
    buf_append_str(out, "${QUARRY_SSH:-ssh} ");
    put_word(host, out);
    buf_append_byte(out, ' ');
    put_word(command, out);
}

static void put_settings(const struct new_node *n, struct buf *out)
{
    const char *colon = strrchr(n->address, ':');
    PRE(colon);
    buf_printf(out, "[server]\nname = %s\naddress = %s\nlisten = 0.0.0.0%s\n",
               n->host, n->address, colon);
    buf_printf(out, "data = \"%s\"\ncell = %s\nroles = %s\ncluster = %s\n",
               n->dir ? n->dir : "/var/lib/quarry", n->cell, n->roles,
               n->cluster);
    if (*n->lock_service)
        buf_printf(out, "lock-service = %s\n", n->lock_service);
    if (*n->rack)
        buf_printf(out, "rack = %s\n", n->rack);
    if (n->key_file)
        buf_printf(out, "key = \"%s/key\"\n", n->dir ? n->dir : "/etc/quarry");
    if (n->dir)
        buf_printf(out, "log = \"%s/log\"\npid-file = \"%s/pid\"\n", n->dir,
                   n->dir);
}

/* A command that writes its input to FILE below the node's directory; the
 * package's files belong to root, and the group of the service reads them. */
static void
put_file(const struct new_node *n, const char *file, struct buf *out)
{
    struct buf command = BUF_INIT;
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", n->dir ? n->dir : "/etc/quarry", file);
    buf_append_str(&command, "umask 077 && ");
    if (n->dir) {
        buf_append_str(&command, "mkdir -p ");
        put_word(n->dir, &command);
        buf_append_str(&command, " && ");
    }
    buf_append_str(&command, "cat >");
    put_word(buf_cstr(&path), &command);
    if (!n->dir) {
        buf_append_str(&command, " && chgrp quarry ");
        put_word(buf_cstr(&path), &command);
        buf_append_str(&command, " && chmod 640 ");
        put_word(buf_cstr(&path), &command);
    }
    put_ssh(n->host, buf_cstr(&command), out);
    buf_close(&command);
    buf_close(&path);
}

static void
put_start(const char *host, const char *dir, const char *verb, struct buf *out)
{
    struct buf command = BUF_INIT;
    if (!dir) {
        buf_printf(&command, "systemctl %s --now quarry", verb);
    } else if (strcmp(verb, "enable") == 0) {
        buf_append_str(&command, "cd ");
        put_word(dir, &command);
        buf_append_str(&command, " && setsid quarry server --config "
                                 "server.conf >out 2>&1 </dev/null &");
    } else {
        buf_append_str(&command, "cd ");
        put_word(dir, &command);
        buf_append_str(&command,
                       " && p=$(cat pid) && kill \"$p\" && while kill -0 \"$p\""
                       " 2>/dev/null; do sleep 0.1; done");
    }
    put_ssh(host, buf_cstr(&command), out);
    buf_append_byte(out, '\n');
    buf_close(&command);
}

void new_node_script(const struct new_node *n, struct buf *out)
{
    put_ssh(n->host, "quarry version", out);
    buf_append_byte(out, '\n');
    if (n->key_file) {
        put_file(n, "key", out);
        buf_append_str(out, " <");
        put_word(n->key_file, out);
        buf_append_byte(out, '\n');
    }
    put_file(n, "server.conf", out);
    buf_append_str(out, " <<'END'\n");
    put_settings(n, out);
    buf_append_str(out, "END\n");
    put_start(n->host, n->dir, "enable", out);
}

void old_node_script(const char *host, const char *dir, struct buf *out)
{
    put_start(host, dir, "disable", out);
}

/* Run @script; ERR_IO: a command of it failed. The user sees what it says. */
static int run_script(const char *script, struct err *err)
{
    pid_t pid = fork();
    int status = 0;
    if (pid < 0)
        return err_set_errno(err, errno, "sh");
    if (pid == 0) {
        execl("/bin/sh", "sh", "-e", "-c", script, (char *)NULL);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    err_set(err, ERR_IO, "a command of ssh failed");
    err_hint(err, "--print shows the commands, to be run by hand");
    return ERR_IO;
}

/* --- settings of the cluster --------------------------------------------- */

/* The value of setting @name in @settings, or @otherwise. Borrowed. */
static const char *
setting_of(const json_t *settings, const char *name, const char *otherwise)
{
    size_t i;
    json_t *s;
    json_array_foreach(settings, i, s) {
        const char *n = json_string_value(json_object_get(s, "name"));
        const char *v = json_string_value(json_object_get(s, "value"));
        if (n && v && strcmp(n, name) == 0)
            return v;
    }
    return otherwise;
}

/* Settings of the node at the first address of @r. *@out is owned. */
static int ask_settings(struct remote *r, json_t **out, struct err *err)
{
    const struct rpc_channel_options o = {.security = r->security};
    const struct rpc_call_options call = {.timeout_us = CALL_US};
    struct rpc_channel *c = rpc_channel_new(r->addresses[0], &o);
    struct buf body = BUF_INIT;
    int rc = rpc_call(c, SERVER_CONFIG, &call, SLICE_EMPTY, SLICE_EMPTY, &body,
                      NULL, err);
    *out = NULL;
    if (rc == 0) {
        struct codec_reader reader = codec_reader_make(buf_slice(&body));
        uint32_t count = codec_get_array(&reader);
        struct slice text = codec_get_bytes(&reader);
        if (count >= 1 && !reader.bad)
            *out = json_loadb(text.data, text.len, 0, NULL);
        if (!*out)
            rc = err_set(err, ERR_CORRUPT, "malformed settings");
    }
    rpc_channel_free(c);
    buf_close(&body);
    return rc;
}

/* --- add ----------------------------------------------------------------- */

/* "HOST" or "HOST:PORT" into both; they are owned. */
static void split_host(const char *word, char **host, char **address)
{
    const char *colon = strrchr(word, ':');
    struct buf b = BUF_INIT;
    *host =
        colon ? mem_strndup(word, (size_t)(colon - word)) : mem_strdup(word);
    buf_printf(&b, "%s:%s", *host, colon ? colon + 1 : PORT_DEFAULT);
    *address = buf_take(&b);
}

static int check_certificates(const json_t *settings, struct err *err)
{
    if (!*setting_of(settings, "server.certificate", ""))
        return 0;
    err_set(err, ERR_UNSUPPORTED,
            "the cluster has certificates: a node needs one of its own");
    err_hint(err, "make it, write the settings by hand as another node has "
                  "them, and start it: docs/securing.md");
    return ERR_UNSUPPORTED;
}

static int
start_node(struct remote *r, const struct new_node *n, struct err *err)
{
    struct buf script = BUF_INIT;
    const char *address = n->address;
    int rc = 0;
    new_node_script(n, &script);
    if (args_flag(r->args, "print"))
        printf("%s", buf_cstr(&script));
    else
        rc = run_script(buf_cstr(&script), err);
    buf_close(&script);
    if (rc || args_flag(r->args, "print"))
        return rc;
    rc = cluster_reach(r->world, &address, 1, START_US, err);
    if (rc == 0)
        cli_remark(r->cli, "%s is a node of the cluster", address);
    return rc;
}

static int add_remote(struct remote *r, struct err *err)
{
    const char *rack = args_value(r->args, "rack");
    const char *roles = args_value(r->args, "roles");
    struct new_node n = {.roles = roles ? roles : ROLES_DEFAULT,
                         .rack = rack ? rack : "",
                         .dir = args_value(r->args, "dir"),
                         .key_file = r->ctx};
    json_t *settings = NULL;
    char *host, *address;
    int rc = ask_settings(r, &settings, err);
    split_host(r->args->words[0], &host, &address);
    n.host = host;
    n.address = address;
    if (rc == 0)
        rc = check_certificates(settings, err);
    if (rc == 0) {
        n.cell = setting_of(settings, "server.cell", "");
        n.cluster = setting_of(settings, "server.cluster", "quarry");
        n.lock_service = setting_of(settings, "server.lock-service", "");
        if (!*n.cell) /* Alone: the cell is that node. */
            n.cell = r->addresses[0];
        rc = start_node(r, &n, err);
    }
    json_decref(settings);
    mem_free(host);
    mem_free(address);
    return rc;
}

/* --- remove -------------------------------------------------------------- */

static int open_files(struct remote *r, struct fs **out, struct err *err)
{
    struct buf all = BUF_INIT;
    struct gfs_options o = {.security = r->security, .name = "quarry cluster"};
    int rc;
    for (size_t i = 0; i < r->address_count; i++)
        buf_printf(&all, "%s%s", i ? "," : "", r->addresses[i]);
    o.namenodes = buf_cstr(&all);
    rc = fs_gfs_open(r->world, &o, out, err);
    buf_close(&all);
    return rc;
}

/* Chunks that have too few copies where the leaving server does not count. */
static int count_thin(struct fs *fs,
                      uint64_t *thin,
                      uint64_t *copying,
                      uint64_t *lost,
                      struct err *err)
{
    struct gfs_status s;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_get_status(fs, &a, &s, err);
    if (rc == 0) {
        *thin = s.under_replicated + s.unreported;
        *copying = s.copying;
        *lost = s.lost;
    }
    arena_close(&a);
    return rc;
}

/* Until every chunk has its copies without @address. */
static int
cluster_hosts_drain(struct remote *r, const char *address, struct err *err)
{
    struct fs *fs;
    uint64_t thin = 1, before = UINT64_MAX, copying = 0, lost = 0;
    uint64_t since_ns = world_mono_ns(r->world);
    int rc = open_files(r, &fs, err);
    if (rc)
        return rc;
    rc = gfs_set_server_state(fs, address, GFS_SERVER_LEAVING, err);
    while (rc == 0 && thin > 0) {
        world_sleep_us(r->world, DRAIN_POLL_US);
        rc = fiber_check(err);
        if (rc == 0)
            rc = count_thin(fs, &thin, &copying, &lost, err);
        if (rc == 0 && copying)
            since_ns = world_mono_ns(r->world);
        if (rc == 0 && thin != before) {
            cli_remark(r->cli, "%llu chunks are to be copied",
                       (unsigned long long)thin);
            before = thin;
            since_ns = world_mono_ns(r->world);
        }
        if (rc == 0 && (world_mono_ns(r->world) - since_ns) / 1000 > DRAIN_US) {
            rc = err_set(err, ERR_DEADLINE,
                         "no more can be copied: %llu chunks have too few "
                         "copies without it",
                         (unsigned long long)thin);
            err_hint(err, "are there servers enough? quarry fs df; quarry fs "
                          "leave --back takes the order back");
        }
    }
    if (rc == 0 && lost)
        rc = err_set(err, ERR_CORRUPT, "%llu chunks have no copy",
                     (unsigned long long)lost);
    fs_close(fs);
    return rc;
}

static int mark_gone(struct remote *r, const char *address, struct err *err)
{
    struct fs *fs;
    int rc = open_files(r, &fs, err);
    if (rc)
        return rc;
    rc = gfs_set_server_state(fs, address, GFS_SERVER_GONE, err);
    fs_close(fs);
    return rc;
}

/* A member of the cell is not only a place of data. */
static int
check_no_member(struct remote *r, const char *address, struct err *err)
{
    json_t *settings = NULL;
    struct slice list, item;
    int rc = ask_settings(r, &settings, err);
    if (rc)
        return rc;
    list = slice_str(setting_of(settings, "server.cell", r->addresses[0]));
    while (rc == 0 && list.len) {
        size_t end = slice_find_byte(list, ',');
        item = slice_trim(slice_sub(list, 0, end));
        list = slice_sub(list, MIN_OF(end + 1, list.len), list.len);
        if (slice_eq_str(item, address)) {
            rc =
                err_set(err, ERR_INVALID,
                        "%s is a member of the cell, which keeps the cluster's "
                        "locks and names",
                        address);
            err_hint(err, "start another member in its place and take this one "
                          "out first: quarry member rm");
        }
    }
    json_decref(settings);
    return rc;
}

static int remove_remote(struct remote *r, struct err *err)
{
    const char *dir = args_value(r->args, "dir");
    struct buf script = BUF_INIT;
    char *host, *address;
    int rc;
    split_host(r->args->words[0], &host, &address);
    rc = check_no_member(r, address, err);
    if (rc == 0 && args_flag(r->args, "print")) {
        printf("quarry fs leave %s -t %s   # and wait: quarry fs df\n", address,
               r->cli->target);
        old_node_script(host, dir, &script);
        printf("%squarry fs leave %s --gone -t %s\n", buf_cstr(&script),
               address, r->cli->target);
    } else if (rc == 0) {
        rc = cluster_hosts_drain(r, address, err);
        old_node_script(host, dir, &script);
        if (rc == 0) /* It hands its tablets over as it stops. */
            rc = run_script(buf_cstr(&script), err);
        if (rc == 0)
            rc = mark_gone(r, address, err);
        if (rc == 0)
            cli_remark(r->cli, "%s is no node any more", address);
    }
    buf_close(&script);
    mem_free(host);
    mem_free(address);
    return rc;
}

/* --- commands ------------------------------------------------------------ */

/* The key that proves us, for the new node. Owned; NULL: none. */
static char *key_of_target(const struct cli *cli)
{
    static const char scheme[] = "cluster:";
    struct buf b = BUF_INIT;
    if (cli->key)
        return mem_strdup(cli->key);
    if (strncmp(cli->target, scheme, strlen(scheme)) != 0)
        return NULL;
    buf_printf(&b, "%s/key", cli->target + strlen(scheme));
    return buf_take(&b);
}

static int run_add(struct cli *cli, const struct args *args, struct err *err)
{
    char *key = key_of_target(cli);
    int rc = remote_run(cli, args, add_remote, key, err);
    mem_free(key);
    return rc;
}

static int run_remove(struct cli *cli, const struct args *args, struct err *err)
{
    return remote_run(cli, args, remove_remote, NULL, err);
}

const struct command cluster_host_commands[] = {
    {.name = "cluster add",
     .arguments = "HOST[:PORT]",
     .summary = "Make a node on another host, by ssh",
     .details =
         "Writes its settings and the cluster's key there and starts it; "
         "quarry is installed\nthere already. Runs ssh ($QUARRY_SSH: another "
         "program); with --print only shows\nthe commands. A new node is no "
         "member of the cell.",
     .examples = "quarry cluster add n4 -t n1:7400 --key /etc/quarry/key\n"
                 "quarry cluster add n4 -t n1:7400 --print",
     .words_min = 1,
     .words_max = 1,
     .options = {add_options, remote_options},
     .run = run_add},
    {.name = "cluster remove",
     .arguments = "HOST[:PORT]",
     .summary = "Drain a node on another host and stop it, by ssh",
     .details =
         "First all its chunks get their copies elsewhere; then it is stopped, "
         "which hands\nits tablets over. Members of the cell are refused.",
     .examples = "quarry cluster remove n4 -t n1:7400 --key /etc/quarry/key",
     .words_min = 1,
     .words_max = 1,
     .options = {remove_options, remote_options},
     .run = run_remove},
    {.name = NULL},
};
