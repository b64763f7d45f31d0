/* The checks of fs_suite.h against a file system that others run.
 *
 *     fs_suite NAME all
 *     fs_suite NAME faults STEPS SEED QUIET
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
               FS_SUITE_PUBLISHES;
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
