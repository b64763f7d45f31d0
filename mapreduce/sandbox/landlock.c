/* The three system calls of Landlock, by number. The rights that a kernel does
 * not know are left out by its version: an older kernel confines less, and
 * never refuses to confine at all. */
#define _GNU_SOURCE

#include "mapreduce/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/panic.h"

/* The numbers are the same on all architectures. */
#define CREATE_RULESET_NUMBER 444
#define ADD_RULE_NUMBER       445
#define RESTRICT_SELF_NUMBER  446

#define ASK_VERSION       1U
#define RULE_PATH_BENEATH 1

/* Rights over files, in the order in which versions added them. */
#define FS_EXECUTE    (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE  (UINT64_C(1) << 2)
#define FS_READ_DIR   (UINT64_C(1) << 3)
#define FS_V1         ((UINT64_C(1) << 13) - 1)
#define FS_REFER      (UINT64_C(1) << 13) /* Version 2. */
#define FS_TRUNCATE   (UINT64_C(1) << 14) /* Version 3. */
#define FS_IOCTL_DEV  (UINT64_C(1) << 15) /* Version 5. */
#define NET_TCP       UINT64_C(3)         /* Bind, connect: version 4. */
#define SCOPES        UINT64_C(3) /* Abstract sockets, signals: version 6. */

/* Those that mean something for a file. */
#define FS_OF_FILES                                                            \
    (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_READING (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)

struct ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scopes;
};

struct path_rule {
    uint64_t allowed;
    int32_t directory;
} __attribute__((packed));

int landlock_version(void)
{
    long v = syscall(CREATE_RULESET_NUMBER, NULL, 0, ASK_VERSION);
    return v > 0 ? (int)v : 0;
}

static uint64_t handled_fs(int version)
{
    uint64_t fs = FS_V1;
    if (version >= 2)
        fs |= FS_REFER;
    if (version >= 3)
        fs |= FS_TRUNCATE;
    if (version >= 5)
        fs |= FS_IOCTL_DEV;
    return fs;
}

/* A struct of which older kernels know only the beginning. */
static int make_ruleset(const struct ruleset *r, int version)
{
    size_t size = sizeof(r->fs);
    if (version >= 4)
        size += sizeof(r->net);
    if (version >= 6)
        size += sizeof(r->scopes);
    return (int)syscall(CREATE_RULESET_NUMBER, r, size, 0);
}

static int landlock_allow(int rules,
                          const struct landlock_path *p,
                          uint64_t fs,
                          struct err *err)
{
    PRE(rules >= 0);
    struct path_rule rule = {.allowed = p->writable ? fs : fs & FS_READING};
    struct stat st;
    int rc = 0;
    rule.directory = open(p->path, O_PATH | O_CLOEXEC);
    if (rule.directory < 0)
        return 0;
    if (fstat(rule.directory, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= FS_OF_FILES;
    if (syscall(ADD_RULE_NUMBER, rules, RULE_PATH_BENEATH, &rule, 0) != 0)
        rc = err_set_errno(err, errno, "landlock: allow %s", p->path);
    close(rule.directory);
    return rc;
}

int landlock_enter(const struct landlock_path *paths,
                   size_t count,
                   bool network,
                   struct err *err)
{
    int version = landlock_version();
    struct ruleset r = {.fs = handled_fs(version),
                        .net = network ? 0 : NET_TCP,
                        .scopes = SCOPES};
    int rc = 0;
    int rules;
    if (version == 0)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no Landlock");
    rules = make_ruleset(&r, version);
    if (rules < 0)
        return err_set_errno(err, errno, "landlock: make rules");
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = landlock_allow(rules, &paths[i], r.fs, err);
    if (rc == 0 && syscall(RESTRICT_SELF_NUMBER, rules, 0) != 0)
        rc = err_set_errno(err, errno, "landlock: enter");
    close(rules);
    return rc;
}
