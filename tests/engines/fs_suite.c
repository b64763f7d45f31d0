/* The checks of fs_suite.h against a file system that others run.
 *
 *     fs_suite NAME all
 *     fs_suite NAME faults STEPS SEED QUIET
 *     fs_suite NAME hold              the lock NAME/LOCK until the input ends
 *     fs_suite NAME await SECONDS     that lock, which another holds at first
 *
 * NAME is a place as the commands take it: s3://BUCKET/PREFIX, hdfs://…,
 * rados://…, or a directory; what is below it is removed. `faults` expects
 * something on the way that breaks calls; QUIET is a name of the same place
 * past it, whose settings are those variables of the environment that have
 * QUIET_ before their names, and the others. FS_SUITE_WITHOUT is the sum of
 * traits that this server does not have.
 */
#include "tests/lib/fs_suite.h"

#include <stdlib.h>
#include <unistd.h>

#include "gfs-lite/fs_location.h"
#include "gfs-lite/objects.h"

struct place {
    struct world *world;
    const char *name;
    const char *(*variable)(const char *name);
    char root[FS_PATH_BYTES_MAX];
};

static struct {
    char **words;
    int count;
} run;

static const char *noisy_variable(const char *name)
{
    return getenv(name);
}

static const char *quiet_variable(const char *name)
{
    char quiet[128];
    const char *value;
    snprintf(quiet, sizeof(quiet), "QUIET_%s", name);
    value = getenv(quiet);
    return value ? value : getenv(name);
}

/* The location's texts go, its file system stays. */
static int open_place(void *ctx, struct fs **out, struct err *err)
{
    struct place *p = ctx;
    struct fs_location l;
    int rc = fs_location_open(p->world, p->name, NULL, p->variable, &l, err);
    if (rc)
        return rc;
    *out = l.fs;
    l.fs = NULL;
    fs_location_close(&l);
    return 0;
}

static bool begins_with(const char *name, const char *scheme)
{
    return strncmp(name, scheme, strlen(scheme)) == 0;
}

static unsigned traits_of(const char *name)
{
    if (begins_with(name, "s3://"))
        return FS_SUITE_COLONS | FS_SUITE_PUBLISHES;
    if (begins_with(name, "hdfs://"))
        return FS_SUITE_APPENDS | FS_SUITE_DIRECTORIES | FS_SUITE_FENCES |
               FS_SUITE_TREES | FS_SUITE_PUBLISHES;
    if (begins_with(name, "rados://"))
        return FS_SUITE_APPENDS | FS_SUITE_DIRECTORIES | FS_SUITE_LOCKS |
               FS_SUITE_FENCES | FS_SUITE_COLONS | FS_SUITE_BYTES |
               FS_SUITE_TREES | FS_SUITE_PUBLISHES;
    return FS_SUITE_APPENDS | FS_SUITE_DIRECTORIES | FS_SUITE_LOCKS |
           FS_SUITE_COLONS | FS_SUITE_BYTES | FS_SUITE_TREES |
           FS_SUITE_PUBLISHES;
}

static size_t number_of_variable(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

static struct fs_suite suite_of(struct place *p)
{
    const char *path =
        fs_name_is_remote(p->name) ? fs_remote_path(p->name) : "suite";
    snprintf(p->root, sizeof(p->root), "%s", path);
    return (struct fs_suite){
        .world = p->world,
        .open = open_place,
        .ctx = p,
        .root = p->root,
        .traits = traits_of(p->name) &
                  ~(unsigned)number_of_variable("FS_SUITE_WITHOUT", 0),
        .big_bytes = number_of_variable("FS_SUITE_BIG_BYTES", 40 << 20),
        .entries = number_of_variable("FS_SUITE_ENTRIES", 2500),
        .writers = 6};
}

/* Says that it has the lock, and waits for the end of the input. */
static void hold_lock(struct fs_suite *s)
{
    struct fs *fs = suite_client(s);
    struct fs_lock *l = NULL;
    char byte;
    SUITE_OK(fs_lock(fs, suite_name(s, "LOCK"), &l, err));
    ck_assert_int_eq(write(STDOUT_FILENO, "held\n", 5), 5);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    fs_unlock(l);
    fs_close(fs);
}

static void await_lock(struct fs_suite *s, unsigned long seconds)
{
    uint64_t begin = world_mono_ns(s->world);
    struct fs *fs = suite_client(s);
    struct fs_lock *l = NULL;
    int rc = fs_lock(fs, suite_name(s, "LOCK"), &l, &suite_error);
    ck_assert_msg(rc == ERR_BUSY, "%d %s", rc, suite_error.text);
    printf("%s\n", suite_error.text);
    while (rc == ERR_BUSY &&
           world_mono_ns(s->world) - begin < seconds * UINT64_C(1000000000)) {
        world_sleep_us(s->world, 300000);
        rc = fs_lock(fs, suite_name(s, "LOCK"), &l, &suite_error);
    }
    ck_assert_msg(rc == 0, "%d %s", rc, suite_error.text);
    printf("free after %.1f s\n",
           (double)(world_mono_ns(s->world) - begin) / 1e9);
    fs_unlock(l);
    fs_close(fs);
}

/* The check that the command line names. */
START_TEST(test_place)
{
    struct world *w = world_real_new();
    struct place noisy = {
        .world = w, .name = run.words[0], .variable = noisy_variable};
    struct place quiet = {.world = w, .variable = quiet_variable};
    struct fs_suite s = suite_of(&noisy);
    struct fs_suite q;
    if (strcmp(run.words[1], "all") == 0) {
        fs_suite_all(&s);
    } else if (strcmp(run.words[1], "faults") == 0 && run.count == 5) {
        quiet.name = run.words[4];
        q = suite_of(&quiet);
        fs_suite_faults(&s, &q, strtoull(run.words[2], NULL, 10),
                        strtoull(run.words[3], NULL, 10));
    } else if (strcmp(run.words[1], "hold") == 0) {
        hold_lock(&s);
    } else if (strcmp(run.words[1], "await") == 0 && run.count == 3) {
        await_lock(&s, strtoul(run.words[2], NULL, 10));
    } else {
        ck_abort_msg("%s: no such check", run.words[1]);
    }
    world_free(w);
}

END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {test_place};
    if (argc < 3) {
        fprintf(stderr, "usage: fs_suite NAME CHECK [WORD…]\n");
        return 2;
    }
    run.words = argv + 1;
    run.count = argc - 1;
    setenv("CK_FORK", "no", 1);
    return check_main("fs_suite", tests, 1);
}
