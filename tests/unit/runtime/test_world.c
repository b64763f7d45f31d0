/* The real world's files, names, locks and tasks do what world.h says. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

/* Nobody's, whatever is called so here. */
#define SECRET_USER  65534
#define SECRET_GROUP 65534

static struct world *world;
static char path_text[4][512];

static const char *in_dir(int slot, const char *dir, const char *name)
{
    snprintf(path_text[slot], sizeof(path_text[slot]), "%s/%s", dir, name);
    return path_text[slot];
}

static struct file *must_open(const char *path, unsigned flags)
{
    struct err err = ERR_INIT;
    struct file *f;
    ck_assert_msg(file_open(world, path, flags, &f, &err) == 0, "%s", err.text);
    return f;
}

/* --- Tests --------------------------------------------------------------- */

/* Writes in any number of parts, at any offset, leave what a plain array would
 * hold, and reads anywhere give it back, short only at the end. */
START_TEST(test_file_is_an_array)
{
    enum {
        BYTES = 300000,
        PARTS = 200
    };
    struct rand_gen r;
    struct err err = ERR_INIT;
    struct slice parts[PARTS];
    char *model = calloc(1, BYTES);
    char *back = malloc(BYTES);
    uint64_t size = 0;
    uint64_t end_of_file;
    size_t got;
    struct file *f;
    world = world_real_new();
    rand_init(&r, test_seed());
    f = must_open(in_dir(0, test_tmpdir(), "f"),
                  FILE_READ | FILE_WRITE | FILE_CREATE);
    for (int i = 0; i < 200; i++) {
        size_t count = 1 + rand_below(&r, PARTS);
        uint64_t at = rand_below(&r, BYTES / 2);
        uint64_t end = at;
        for (size_t k = 0; k < count; k++) {
            size_t len = rand_below(&r, 500);
            if (end + len > BYTES)
                len = 0;
            for (size_t j = 0; j < len; j++)
                model[end + j] = (char)rand_u64(&r);
            parts[k] = slice_make(model + end, len);
            end += len;
        }
        ck_assert_int_eq(file_write_at(f, at, parts, count, &err), 0);
        size = end > size && end > at ? end : size;
        at = rand_below(&r, BYTES);
        ck_assert_int_eq(file_read_at(f, at, back, BYTES - at, &got, &err), 0);
        ck_assert_uint_eq(got, at < size ? size - at : 0);
        ck_assert_mem_eq(back, model + at, got);
    }
    ck_assert(file_is_cached(f, 0, size)); /* It was just written. */
    file_write_back(f, 0, size);
    file_write_back(f, size / 2, 0);
    file_write_back(f, 2 * size, size); /* Nothing is there. */
    ck_assert(file_is_cached(f, 0, size));
    ck_assert_int_eq(file_sync(f, &err), 0);
    file_advise(f, 0, size, FILE_WONT_NEED);
    (void)file_is_cached(f, 0, size); /* Whatever the system says. */
    ck_assert_int_eq(file_read_at(f, 0, back, size, &got, &err), 0);
    ck_assert(file_is_cached(f, 0, size));
    file_allocate(f, 2 * BYTES);
    ck_assert_int_eq(file_size(f, &end_of_file, &err), 0);
    ck_assert_uint_eq(end_of_file, size);
    file_close(f);
    world_free(world);
    free(model);
    free(back);
}

END_TEST

/* Aligned direct writes read back, also when the end is not aligned. */
START_TEST(test_direct_files)
{
    struct err err = ERR_INIT;
    char *p = aligned_alloc(FILE_DIRECT_ALIGN, 8 * FILE_DIRECT_ALIGN);
    struct slice part = slice_make(p, 8 * FILE_DIRECT_ALIGN);
    size_t got;
    struct file *f;
    world = world_real_new();
    memset(p, 'x', part.len);
    f = must_open(in_dir(0, test_tmpdir(), "f"),
                  FILE_READ | FILE_WRITE | FILE_CREATE | FILE_DIRECT);
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, &err), 0);
    ck_assert_int_eq(file_truncate(f, part.len - 100, &err), 0);
    memset(p, 0, part.len);
    ck_assert_int_eq(file_read_at(f, 0, p, part.len, &got, &err), 0);
    ck_assert_uint_eq(got, part.len - 100);
    ck_assert_int_eq(p[got - 1], 'x');
    file_close(f);
    world_free(world);
    free(p);
}

END_TEST

/* Each way to open a file that cannot be opened names the file and its code. */
START_TEST(test_open_errors)
{
    struct err err = ERR_INIT;
    struct file *f;
    const char *dir = test_tmpdir();
    const char *path = in_dir(0, dir, "f");
    world = world_real_new();
    ck_assert_int_eq(file_open(world, path, FILE_READ, &f, &err), ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    file_close(must_open(path, FILE_WRITE | FILE_CREATE));
    ck_assert_int_eq(file_open(world, path,
                               FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f,
                               &err),
                     ERR_EXISTS);
    ck_assert_int_eq(file_open(world, dir, FILE_READ, &f, &err), ERR_INVALID);
    ck_assert_ptr_null(f);
    world_free(world);
}

END_TEST

/* Names come and go as told, and are listed in order. */
/* A failure of writing and syncing in one call is reported as what it was.
 */
START_TEST(test_written_and_synced)
{
    static const char *const path = "/dev/null"; /* It cannot be synced. */
    const struct slice part = SLICE_LIT("bytes");
    struct err err = ERR_INIT;
    struct file *f;
    world = world_real_new();
    ck_assert_int_eq(file_open(world, path, FILE_WRITE, &f, &err), 0);
    ck_assert_int_ne(file_write_synced(f, 0, &part, 1, &err), 0);
    ck_assert_ptr_eq(strstr(err.text, "sync /dev/null"), err.text);
    file_close(f);
    ck_assert_int_eq(file_open(world, path, FILE_READ, &f, &err), 0);
    ck_assert_int_ne(file_write_synced(f, 0, &part, 1, &err), 0);
    ck_assert_ptr_eq(strstr(err.text, "write /dev/null"), err.text);
    file_close(f);
    world_free(world);
}

END_TEST

START_TEST(test_names)
{
    struct err err = ERR_INIT;
    struct file_info info;
    const char *dir = test_tmpdir();
    char **names;
    size_t count;
    world = world_real_new();
    file_close(must_open(in_dir(0, dir, "b"), FILE_WRITE | FILE_CREATE));
    file_close(must_open(in_dir(0, dir, "a"), FILE_WRITE | FILE_CREATE));
    ck_assert_int_eq(world_mkdir(world, in_dir(1, dir, "c"), &err), 0);
    ck_assert_int_eq(world_mkdir(world, in_dir(1, dir, "c"), &err), ERR_EXISTS);
    ck_assert_int_eq(world_list(world, dir, &names, &count, &err), 0);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(names[0], "a");
    ck_assert_str_eq(names[2], "c");
    world_names_free(names, count);
    ck_assert_int_eq(
        world_rename(world, in_dir(0, dir, "a"), in_dir(2, dir, "b"), &err), 0);
    ck_assert_int_eq(world_stat(world, in_dir(0, dir, "a"), &info, &err),
                     ERR_NOTFOUND);
    ck_assert_int_eq(world_remove(world, in_dir(0, dir, "b"), &err), 0);
    ck_assert_int_eq(world_stat(world, in_dir(1, dir, "c"), &info, &err), 0);
    ck_assert_int_eq(info.kind, FILE_KIND_DIRECTORY);
    ck_assert_int_eq(world_rmdir(world, in_dir(1, dir, "c"), &err), 0);
    ck_assert_int_eq(world_sync_dir(world, dir, &err), 0);
    ck_assert_int_eq(world_list(world, dir, &names, &count, &err), 0);
    ck_assert_uint_eq(count, 0);
    world_names_free(names, count);
    ck_assert_int_eq(
        world_list(world, in_dir(1, dir, "c"), &names, &count, &err),
        ERR_NOTFOUND);
    world_free(world);
}

END_TEST

/* A lock refuses this process a second time, and another process, naming the
 * holder; a child that ends does not release its parent's lock. */
START_TEST(test_lock_excludes)
{
    struct err err = ERR_INIT;
    struct file_lock *l;
    struct file_lock *second;
    const char *path = in_dir(0, test_tmpdir(), "LOCK");
    char pid[32];
    int status;
    pid_t child;
    world = world_real_new();
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    ck_assert_int_eq(file_lock(world, path, &l, &err), 0);
    ck_assert_int_eq(file_lock(world, path, &second, &err), ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(err.text, pid));
    for (int i = 0; i < 2; i++) {
        child = fork();
        if (child == 0) {
            int rc = file_lock(world, path, &second, &err);
            _exit(rc == ERR_BUSY && strstr(err.text, pid) ? 0 : 1);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    file_unlock(l);
    ck_assert_int_eq(file_lock(world, path, &l, &err), 0);
    file_unlock(l);
    world_free(world);
}

END_TEST

/* A directory becomes its owner's alone and keeps what its owner may; errors
 * name what was asked. */
START_TEST(test_directories)
{
    struct err err = ERR_INIT;
    struct file_info info;
    const char *dir = test_tmpdir();
    const char *open_dir = in_dir(0, dir, "open");
    const char *none = in_dir(1, dir, "none");
    world = world_real_new();
    ck_assert_int_eq(world_mkdir(world, open_dir, &err), 0);
    ck_assert_int_eq(chmod(open_dir, 0755), 0);
    ck_assert_int_eq(world_make_private(world, open_dir, &err), 0);
    ck_assert_int_eq(world_stat(world, open_dir, &info, &err), 0);
    ck_assert_uint_eq(info.mode, 0700);
    ck_assert_int_ne(world_rmdir(world, dir, &err), 0); /* It is not empty. */
    ck_assert_int_eq(world_make_private(world, none, &err), ERR_NOTFOUND);
    ck_assert_int_eq(world_sync_dir(world, none, &err), ERR_NOTFOUND);
    ck_assert_int_eq(world_rename(world, none, open_dir, &err), ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "none"));
    ck_assert_ptr_nonnull(strstr(err.text, "open"));
    world_free(world);
}

END_TEST

/* A holder is named with its process, its program and since when; one whose
 * lock file was removed still has the directory. */
START_TEST(test_lock_names_holder)
{
    struct err err = ERR_INIT;
    struct file_lock *l;
    const char *path = in_dir(0, test_tmpdir(), "LOCK");
    char expected[80];
    pid_t child;
    int status;
    world = world_real_new();
    child = fork();
    if (child == 0) {
        kill(getpid(), file_lock(world, path, &l, &err) ? SIGKILL : SIGSTOP);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert(WIFSTOPPED(status));
    snprintf(expected, sizeof(expected), "in use by process %ld, \"test_",
             (long)child);
    ck_assert_int_eq(file_lock(world, path, &l, &err), ERR_BUSY);
    ck_assert_msg(strstr(err.text, expected) && strstr(err.text, ", since 20"),
                  "%s", err.text);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(file_lock(world, path, &l, &err), ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "lock file was removed"));
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(file_lock(world, path, &l, &err), 0);
    file_unlock(l);
    world_free(world);
}

END_TEST

/* The lock goes with the process that held it. */
START_TEST(test_lock_ends_with_process)
{
    struct err err = ERR_INIT;
    struct file_lock *l;
    const char *path = in_dir(0, test_tmpdir(), "LOCK");
    pid_t child;
    int status;
    world = world_real_new();
    child = fork();
    if (child == 0)
        _exit(file_lock(world, path, &l, &err) == 0 ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(file_lock(world, path, &l, &err), 0);
    file_unlock(l);
    world_free(world);
}

END_TEST

/* Readers share a directory; its writer has it alone, in the same process too.
 * A child that was forked meanwhile keeps nothing locked. */
START_TEST(test_dir_lock)
{
    struct err err = ERR_INIT;
    struct dir_lock *first;
    struct dir_lock *second;
    struct dir_lock *alone;
    const char *dir = test_tmpdir();
    int status;
    pid_t child;
    world = world_real_new();
    ck_assert_int_eq(dir_lock(world, dir, false, &first, &err), 0);
    ck_assert_ptr_nonnull(first);
    ck_assert_int_eq(dir_lock(world, dir, false, &second, &err), 0);
    dir_unlock(second);
    ck_assert_int_eq(dir_lock(world, dir, true, &alone, &err), ERR_BUSY);
    child = fork();
    if (child == 0) {
        int rc = dir_lock(world, dir, true, &alone, &err);
        kill(getpid(), rc == ERR_BUSY ? SIGSTOP : SIGKILL);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert(WIFSTOPPED(status));
    dir_unlock(first);
    ck_assert_int_eq(dir_lock(world, dir, true, &alone, &err), 0);
    ck_assert_int_eq(dir_lock(world, dir, false, &first, &err), ERR_BUSY);
    dir_unlock(alone);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(
        dir_lock(world, in_dir(0, dir, "none"), true, &alone, &err),
        ERR_NOTFOUND);
    world_free(world);
}

END_TEST

/* The outcome of checking the secret @name in @dir for a process of user @uid.
 */
static int check_secret_as(const char *dir, const char *name, uid_t uid)
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct world *w;
        /* Directories above may be closed to that user. */
        if (chdir(dir) < 0 || setegid(SECRET_GROUP) < 0 || seteuid(uid) < 0)
            _exit(255);
        w = world_real_new();
        _exit(-world_check_secret(w, name, NULL));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 255);
    return -WEXITSTATUS(status);
}

/* Others than its owner may not read or write a secret; but the group may read
 * one of root's, if the process is not root's. */
START_TEST(test_secrets)
{
    static const struct {
        mode_t mode;
        int as_owner;
        int as_other; /* Of root's file. */
    } cases[] = {{0400, 0, 0},
                 {0600, 0, 0},
                 {0440, ERR_DENIED, 0},
                 {0640, ERR_DENIED, 0},
                 {0460, ERR_DENIED, ERR_DENIED},
                 {0604, ERR_DENIED, ERR_DENIED},
                 {0444, ERR_DENIED, ERR_DENIED},
                 {0601, ERR_DENIED, ERR_DENIED}};

    const char *dir = test_tmpdir();
    const char *path = in_dir(0, dir, "secret");
    struct err err = ERR_INIT;
    world = world_real_new();
    ck_assert_int_eq(world_check_secret(world, path, &err), ERR_NOTFOUND);
    file_close(must_open(path, FILE_WRITE | FILE_CREATE));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(chmod(path, cases[i].mode), 0);
        ck_assert_int_eq(world_check_secret(world, path, &err),
                         cases[i].as_owner);
        if (cases[i].as_owner)
            ck_assert_ptr_nonnull(strstr(err.hint, "chmod 600"));
        if (geteuid() == 0) {
            ck_assert_int_eq(chmod(dir, 0711), 0);
            ck_assert_int_eq(check_secret_as(dir, "secret", SECRET_USER),
                             cases[i].as_other);
        }
    }
    world_free(world);
}

END_TEST

/* Clocks advance, sleeps last, random numbers differ. */
START_TEST(test_time_and_chance)
{
    uint64_t mono;
    world = world_real_new();
    mono = world_mono_ns(world);
    world_sleep_us(world, 3000);
    ck_assert(world_mono_ns(world) >= mono + 3000000);
    ck_assert(world_now_us(world) > UINT64_C(1600000000000000));
    ck_assert(world_random(world) != world_random(world));
    ck_assert(world_cpu_count(world) >= 1);
    world_free(world);
}

END_TEST

TEST_MAIN("world",
          test_file_is_an_array,
          test_direct_files,
          test_open_errors,
          test_written_and_synced,
          test_names,
          test_directories,
          test_lock_excludes,
          test_lock_names_holder,
          test_lock_ends_with_process,
          test_dir_lock,
          test_secrets,
          test_time_and_chance)
