/* Runs a fuzzer without libFuzzer: over the files and directories given, and
 * then over damaged copies of them, so that every build replays what fuzzing
 * once found and a little more.
 *
 *     fuzz_NAME [FILE|DIRECTORY]…
 *
 * The damage is drawn from $QUARRY_SEED, which is printed.
 */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/rand.h"

#define DAMAGED_COPIES   20
#define RANDOM_INPUTS    200
#define RANDOM_BYTES_MAX 512
#define INPUT_BYTES_MAX  ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rand_gen chance;
static size_t input_count;

static void run(const struct buf *b)
{
    /* An exact allocation, so that ASan sees one byte too many. */
    uint8_t *copy = malloc(b->len ? b->len : 1);
    if (!copy)
        abort();
    if (b->len)
        memcpy(copy, b->data, b->len);
    (void)LLVMFuzzerTestOneInput(copy, b->len);
    free(copy);
    input_count++;
}

/* Flip bytes, cut, or repeat a piece. */
static void damage(struct buf *b)
{
    if (b->len == 0)
        return;
    for (uint64_t i = rand_below(&chance, 4); i > 0; i--)
        b->data[rand_below(&chance, b->len)] = (char)rand_u64(&chance);
    if (rand_below(&chance, 4) == 0)
        buf_truncate(b, rand_below(&chance, b->len + 1));
    if (b->len > 0 && rand_below(&chance, 8) == 0) {
        size_t at = rand_below(&chance, b->len);
        struct buf piece = BUF_INIT;
        buf_append(&piece, b->data + at, b->len - at);
        buf_append(b, piece.data, piece.len);
        buf_close(&piece);
    }
}

static void run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct buf whole = BUF_INIT;
    char part[8192];
    size_t n;
    if (!f) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    while ((n = fread(part, 1, sizeof(part), f)) > 0 &&
           whole.len < INPUT_BYTES_MAX)
        buf_append(&whole, part, n);
    fclose(f);
    run(&whole);
    for (int i = 0; i < DAMAGED_COPIES; i++) {
        struct buf copy = BUF_INIT;
        buf_append(&copy, whole.data, whole.len);
        damage(&copy);
        run(&copy);
        buf_close(&copy);
    }
    buf_close(&whole);
}

static void run_path(const char *path)
{
    struct stat st;
    struct dirent **names;
    int count;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        run_file(path);
        return;
    }
    count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char below[4096];
        if (names[i]->d_name[0] != '.') {
            snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
            run_file(below);
        }
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

static void run_random(void)
{
    for (int i = 0; i < RANDOM_INPUTS; i++) {
        struct buf b = BUF_INIT;
        size_t len = rand_below(&chance, RANDOM_BYTES_MAX);
        for (size_t j = 0; j < len; j++)
            buf_append_byte(&b, (char)rand_u64(&chance));
        run(&b);
        buf_close(&b);
    }
}

int main(int argc, char **argv)
{
    const char *s = getenv("QUARRY_SEED");
    unsigned long long seed = s ? strtoull(s, NULL, 0) : 20260101;
    printf("seed: QUARRY_SEED=%llu\n", seed);
    rand_init(&chance, seed);
    for (int i = 1; i < argc; i++)
        run_path(argv[i]);
    run_random();
    printf("%zu inputs\n", input_count);
    return EXIT_SUCCESS;
}
