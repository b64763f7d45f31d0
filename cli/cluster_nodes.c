/* Directories, configuration and processes of a cluster on loopback. Ports are
 * chosen free and written down. A node's process is the one that holds the lock
 * on its directory; pid files, which may be stale, are not read.
 */
#define _GNU_SOURCE

#include "cli/cluster_nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"

#define KEY_BYTES       32
#define LAST_WORDS_SEEK 4096
#define PORT_MIN        10000
#define PORTS_END       32768 /* Where the host does not say. */
#define PORT_TRIES      1000

static char *cluster_nodes_join_path(const char *dir, const char *name)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s", dir, name);
    return buf_take(&b);
}

char *cluster_key_path(const struct cluster *c)
{
    return cluster_nodes_join_path(c->dir, "key");
}

static struct cluster_node *add_node(struct cluster *c)
{
    struct cluster_node *n = &c->nodes[c->node_count++];
    snprintf(n->name, sizeof(n->name), "n%zu", c->node_count);
    n->dir = cluster_nodes_join_path(c->dir, n->name);
    n->conf = cluster_nodes_join_path(n->dir, "server.conf");
    return n;
}

void cluster_close(struct cluster *c)
{
    for (size_t i = 0; i < c->node_count; i++) {
        mem_free(c->nodes[i].dir);
        mem_free(c->nodes[i].conf);
        mem_free(c->nodes[i].address);
        mem_free(c->nodes[i].console);
    }
    mem_free(c->dir);
}

/* --- opening ------------------------------------------------------------- */

static int read_address(struct cluster_node *n, struct err *err)
{
    struct buf text = BUF_INIT;
    struct conf *conf = NULL;
    const char *address = NULL;
    int rc = cli_read_file(n->conf, &text, err);
    if (rc == 0)
        rc = conf_parse(buf_slice(&text), n->conf, &conf, err);
    if (rc == 0)
        address = conf_get(conf, "server", "address");
    n->is_elsewhere = address != NULL;
    if (rc == 0 && !address)
        address = conf_get(conf, "server", "listen");
    if (rc == 0 && !address)
        rc = err_set(err, ERR_INVALID, "%s: no key listen", n->conf);
    if (rc == 0) {
        const char *console = conf_get(conf, "server", "console");
        n->address = mem_strdup(address);
        n->console = mem_strdup(console ? console : "");
    }
    conf_free(conf);
    buf_close(&text);
    return rc;
}

int cluster_open(const char *dir, struct cluster *out, struct err *err)
{
    int rc = 0;
    *out = (struct cluster){.dir = mem_strdup(dir)};
    while (rc == 0 && out->node_count < CLUSTER_NODES_MAX) {
        struct cluster_node *n = add_node(out);
        if (access(n->conf, F_OK) != 0) {
            mem_free(n->dir);
            mem_free(n->conf);
            out->node_count--;
            break;
        }
        rc = read_address(n, err);
    }
    if (rc == 0 && out->node_count == 0) {
        rc = err_set(err, ERR_NOTFOUND, "there is no cluster at %s", dir);
        err_hint(err, "quarry cluster start --data %s", dir);
    }
    return rc;
}

int cluster_refuse_elsewhere(const struct cluster *c, struct err *err)
{
    for (size_t i = 0; i < c->node_count; i++)
        if (c->nodes[i].is_elsewhere) {
            err_set(err, ERR_UNSUPPORTED, "node %s of %s runs on another host",
                    c->nodes[i].name, c->dir);
            err_hint(err, "who started it ends it: quarry slurm");
            return ERR_UNSUPPORTED;
        }
    return 0;
}

int cluster_find(struct cluster *c,
                 const char *name,
                 struct cluster_node **out,
                 struct err *err)
{
    for (size_t i = 0; i < c->node_count; i++)
        if (strcmp(c->nodes[i].name, name) == 0) {
            *out = &c->nodes[i];
            return 0;
        }
    err_set(err, ERR_NOTFOUND, "there is no node %s", name);
    err_hint(err, "nodes: n1 to n%zu", c->node_count);
    return ERR_NOTFOUND;
}

/* --- making -------------------------------------------------------------- */

int cluster_make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set_errno(err, errno, "make directory %s", path);
    return 0;
}

static int write_text(const char *path,
                      mode_t mode,
                      const struct buf *text,
                      struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    ssize_t n;
    if (fd < 0)
        return err_set_errno(err, errno, "%s", path);
    n = write(fd, text->data, text->len);
    if (close(fd) < 0 || n != (ssize_t)text->len)
        return err_set_errno(err, errno, "write %s", path);
    return 0;
}

int cluster_write_key(struct world *w, const struct cluster *c, struct err *err)
{
    unsigned char bytes[KEY_BYTES];
    struct buf text = BUF_INIT;
    char *path = cluster_key_path(c);
    int rc;
    world_random_bytes(w, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(&text, "%02x", bytes[i]);
    buf_append_byte(&text, '\n');
    rc = write_text(path, 0600, &text, err);
    mem_free(path);
    buf_close(&text);
    return rc;
}

/* The first port that this host gives to clients' ends of connections. A server
 * that is started again must not find its port taken by one of them. */
static unsigned first_clients_port(void)
{
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    unsigned first = 0;
    if (f && fscanf(f, "%u", &first) != 1)
        first = 0;
    if (f)
        fclose(f);
    return first > PORT_MIN && first <= UINT16_MAX ? first : PORTS_END;
}

/* A socket that has a port which is free on all addresses; *@port is it. -1 and
 * errno if there is none. */
static int hold_port(struct world *w, unsigned *port)
{
    unsigned range = first_clients_port() - PORT_MIN;
    struct sockaddr_in a = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    a.sin_addr.s_addr = htonl(INADDR_ANY);
    for (int i = 0; i < PORT_TRIES; i++) {
        *port = PORT_MIN + (unsigned)(world_random(w) % range);
        a.sin_port = htons((uint16_t)*port);
        if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
            return fd;
        if (errno != EADDRINUSE && errno != EACCES)
            break;
    }
    close(fd);
    return -1;
}

int cluster_choose_ports(struct world *w,
                         unsigned *ports,
                         size_t count,
                         struct err *err)
{
    int fds[2 * CLUSTER_NODES_MAX];
    size_t held = 0;
    int rc = 0;
    PRE(count <= ARRAY_LEN(fds));
    while (held < count && rc == 0) {
        fds[held] = hold_port(w, &ports[held]);
        if (fds[held] < 0)
            rc = err_set_errno(err, errno, "choose a port");
        else
            held++;
    }
    while (held)
        close(fds[--held]);
    return rc;
}

size_t cluster_cell_count(size_t nodes)
{
    /* An even member adds nothing to what the cell survives. */
    size_t cell = MIN_OF(nodes, (size_t)CLUSTER_CELL_MAX);
    return cell % 2 == 0 ? cell - 1 : cell;
}

static void put_cell(const unsigned *ports, size_t count, struct buf *out)
{
    size_t cell = cluster_cell_count(count);
    for (size_t i = 0; i < cell; i++)
        buf_printf(out, "%s127.0.0.1:%u", i ? "," : "", ports[i]);
}

static int write_conf(const struct cluster *c,
                      size_t index,
                      const unsigned *ports,
                      size_t count,
                      struct err *err)
{
    const struct cluster_node *n = &c->nodes[index];
    struct buf cell = BUF_INIT;
    struct buf text = BUF_INIT;
    char *real = realpath(c->dir, NULL);
    bool in_cell;
    int rc;
    put_cell(ports, count, &cell);
    in_cell = strstr(buf_cstr(&cell), strrchr(n->address, ':')) != NULL;
    buf_printf(&text,
               "# Written by `quarry cluster start`; not touched again.\n"
               "[server]\n"
               "name = %s\n"
               "data = \"%s/%s\"\n"
               "listen = %s\n"
               "console = %s\n"
               "cell = %s\n"
               "roles = %s\n"
               "rack = r%zu\n"
               "key = \"%s/key\"\n"
               "log = \"%s/%s/log\"\n"
               "pid-file = \"%s/%s/pid\"\n",
               n->name, real, n->name, n->address, n->console, buf_cstr(&cell),
               !in_cell          ? CLUSTER_OTHER_ROLES
               : c->lock_service ? &CLUSTER_CELL_ROLES[sizeof("lock,") - 1]
                                 : CLUSTER_CELL_ROLES,
               index + 1, real, real, n->name, real, n->name);
    if (c->lock_service)
        buf_printf(&text, "lock-service = \"%s\"\n", c->lock_service);
    free(real);
    rc = cluster_make_dir(n->dir, err);
    if (rc == 0)
        rc = write_text(n->conf, 0600, &text, err);
    buf_close(&cell);
    buf_close(&text);
    return rc;
}

static int
make_cluster(struct world *w, struct cluster *c, size_t count, struct err *err)
{
    unsigned ports[2 * CLUSTER_NODES_MAX]; /* The consoles' behind. */
    int rc = cluster_make_dir(c->dir, err);
    if (rc == 0)
        rc = cluster_write_key(w, c, err);
    if (rc == 0)
        rc = cluster_choose_ports(w, ports, 2 * count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct cluster_node *n = add_node(c);
        char address[32];
        snprintf(address, sizeof(address), "127.0.0.1:%u", ports[i]);
        n->address = mem_strdup(address);
        snprintf(address, sizeof(address), "127.0.0.1:%u", ports[count + i]);
        n->console = mem_strdup(address);
        rc = write_conf(c, i, ports, count, err);
    }
    return rc;
}

/* The directory of a store is no place for nodes. */
static int refuse_store(const char *dir, struct err *err)
{
    char *path = cluster_nodes_join_path(dir, "CURRENT");
    int rc = 0;
    if (access(path, F_OK) == 0) {
        rc = err_set(err, ERR_EXISTS, "there is a store in %s", dir);
        err_hint(err, "name another directory by --data");
    }
    mem_free(path);
    return rc;
}

int cluster_create(struct world *w,
                   const char *dir,
                   size_t count,
                   const char *lock_service,
                   struct cluster *out,
                   struct err *err)
{
    int rc = cluster_open(dir, out, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = refuse_store(dir, err);
    if (rc)
        return rc;
    cluster_close(out);
    PRE(count > 0);
    PRE(count <= CLUSTER_NODES_MAX);
    *out =
        (struct cluster){.dir = mem_strdup(dir), .lock_service = lock_service};
    return make_cluster(w, out, count, err);
}

/* --- processes ----------------------------------------------------------- */

/* The process that holds the lock on the node's directory. */
pid_t cluster_node_pid(const struct cluster_node *n)
{
    struct flock who = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = cluster_nodes_join_path(n->dir, "LOCK");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    pid_t pid = 0;
    mem_free(path);
    if (fd < 0)
        return 0;
    if (fcntl(fd, F_GETLK, &who) == 0 && who.l_type != F_UNLCK)
        pid = who.l_pid;
    close(fd);
    return pid;
}

bool cluster_process_is_dying(pid_t pid)
{
    char path[64];
    char state = 0;
    FILE *f;
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    f = fopen(path, "re");
    if (!f)
        return true;
    while (fgets(path, sizeof(path), f))
        if (sscanf(path, "State: %c", &state) == 1)
            break;
    fclose(f);
    return state == 'Z' || state == 'X';
}

static int prepare_files(const struct cluster_node *n,
                         posix_spawn_file_actions_t *files)
{
    char *out = cluster_nodes_join_path(n->dir, "out");
    int rc = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null",
                                              O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(
            files, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(files, STDOUT_FILENO,
                                              STDERR_FILENO);
    mem_free(out);
    return rc;
}

int cluster_node_start(const struct cluster_node *n,
                       pid_t *pid,
                       struct err *err)
{
    char program[] = "quarry";
    char command[] = "server";
    char option[] = "--config";
    char *argv[] = {program, command, option, n->conf, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    int rc;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    rc = prepare_files(n, &files);
    if (rc == 0)
        rc = posix_spawn(pid, "/proc/self/exe", &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc ? err_set_errno(err, rc, "start node %s", n->name) : 0;
}

char *cluster_node_last_words(const struct cluster_node *n)
{
    char text[LAST_WORDS_SEEK];
    char *path = cluster_nodes_join_path(n->dir, "out");
    FILE *f = fopen(path, "r");
    size_t len = 0;
    struct slice s;
    size_t from;
    mem_free(path);
    if (f) {
        if (fseek(f, -LAST_WORDS_SEEK, SEEK_END) != 0)
            rewind(f);
        len = fread(text, 1, sizeof(text), f);
        fclose(f);
    }
    s = slice_trim(slice_make(text, len));
    for (from = s.len; from > 0 && s.data[from - 1] != '\n'; from--)
        ;
    return mem_strndup(s.data + from, s.len - from);
}
