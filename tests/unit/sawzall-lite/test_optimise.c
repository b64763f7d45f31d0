/* Optimised code and plain code of the same program do the same. */
#include <dirent.h>
#include <stdlib.h>

#include "base/core/rand.h"
#include "saw_run_text.h"
#include "tests/lib/check_main.h"
#include "tests/lib/saw_compare.h"
#include "tests/lib/saw_source.h"

static const struct slice records[] = {{"", 0},
                                       {"12", 2},
                                       {"a,b\xc3\xa9 c 17", 10},
                                       {"\xff\x00z", 3}};

/* Fails with the program and what it said in both. */
static bool agree(struct slice source, bool ignore_undefs)
{
    struct saw_outcome fast = {0};
    struct saw_outcome plain = {0};
    bool compared;

    ck_assert_msg(saw_outcomes_agree(source, ignore_undefs, records, 4, &fast,
                                     &plain, &compared),
                  "ignore_undefs %d\n%.*s\n--- optimised: %d %d\n%s\n--- "
                  "plain: %d %d\n%s",
                  ignore_undefs, SLICE_ARG(source), fast.compile_rc, fast.rc,
                  buf_cstr(&fast.text), plain.compile_rc, plain.rc,
                  buf_cstr(&plain.text));
    buf_close(&fast.text);
    buf_close(&plain.text);
    return compared;
}

static void read_all(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    for (;;) {
        size_t n = fread(buf_reserve(out, 65536), 1, 65536, f);
        if (n == 0)
            break;
        out->len += n;
    }
    fclose(f);
}

static unsigned all_files(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *d;
    unsigned count = 0;

    ck_assert_ptr_nonnull(dir);
    while ((d = readdir(dir)) != NULL) {
        struct buf path = BUF_INIT;
        struct buf text = BUF_INIT;
        size_t n = strlen(d->d_name);
        if (n > 4 && strcmp(d->d_name + n - 4, ".szl") == 0) {
            buf_printf(&path, "%s/%s", folder, d->d_name);
            read_all(buf_cstr(&path), &text);
            count += agree(buf_slice(&text), false);
            count += agree(buf_slice(&text), true);
        }
        buf_close(&path);
        buf_close(&text);
    }
    closedir(dir);
    return count;
}

/* Every program of the tests and of the jobs does the same in both codes. */
START_TEST(test_programs)
{
    ck_assert_uint_gt(
        all_files(QUARRY_SOURCE_DIR "/tests/unit/sawzall-lite/cases"), 20);
    ck_assert_uint_gt(all_files(QUARRY_SOURCE_DIR "/jobs"), 4);
}

END_TEST

/* Random programs do the same in both codes. */
START_TEST(test_random)
{
    struct rand_gen r;
    const char *count = getenv("QUARRY_PROGRAMS");
    unsigned n = count ? (unsigned)strtoul(count, NULL, 10) : 400;
    unsigned compared = 0;

    rand_init(&r, test_seed());
    for (unsigned i = 0; i < n; i++) {
        uint8_t bytes[400];
        struct saw_source s = {.p = bytes, .end = bytes + sizeof(bytes)};
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (uint8_t)rand_u64(&r);
        s.end = bytes + rand_u64(&r) % sizeof(bytes);
        src_program(&s, 20000);
        compared += agree(buf_slice(&s.text), i % 2);
        buf_close(&s.text);
    }
    /* Most end before a limit, else this tests nothing. */
    ck_assert_uint_gt(compared, n / 2);
}

END_TEST

TEST_MAIN("optimise", test_programs, test_random)
