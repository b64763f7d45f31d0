/* How often does each word occur? Words are runs of bytes above the space. */
#include "jobs/jobs.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Emit the word that ends at @end, if one has begun. */
static void word_end(struct mr_task *t, const char *start, const char *end)
{
    mr_emit_count(t, slice_make(start, (size_t)(end - start)), 1);
}

/* The rest of a line, byte by byte; @start is where a word has begun, or NULL.
 */
static void count_bytes(struct mr_task *t,
                        const char *p,
                        const char *end,
                        const char *start)
{
    for (; p < end; p++) {
        bool letter = (unsigned char)*p > ' ';
        if (letter && !start)
            start = p;
        if (!letter && start) {
            word_end(t, start, p);
            start = NULL;
        }
    }
    if (start)
        word_end(t, start, end);
}

#if defined(__SSE2__)
/* Bit i: byte i of the 16 at @p is part of a word. */
static unsigned letters(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i space = _mm_set1_epi8(' ');
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, space), v);
    return ~(unsigned)_mm_movemask_epi8(low) & 0xffff;
}

/* Sixteen bytes at a time: a word begins or ends where the mask changes. */
static void count_words(struct mr_task *t, struct slice line)
{
    const char *p = line.data;
    const char *end = p + line.len;
    const char *start = NULL;
    for (; end - p >= 16; p += 16) {
        unsigned m = letters(p);
        unsigned edges = (m ^ (m << 1 | (start != NULL))) & 0xffff;
        for (; edges; edges &= edges - 1) {
            const char *at = p + __builtin_ctz(edges);
            if (start)
                word_end(t, start, at);
            start = start ? NULL : at;
        }
    }
    count_bytes(t, p, end, start);
}
#else
static void count_words(struct mr_task *t, struct slice line)
{
    count_bytes(t, line.data, line.data + line.len, NULL);
}
#endif

static int
map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    (void)err;
    count_words(t, record->value);
    return 0;
}

static int reduce(struct mr_task *t,
                  struct slice key,
                  struct mr_values *values,
                  struct err *err)
{
    (void)err;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(values));
    return 0;
}

const struct mr_job job_word_count = {
    .abi_version = MR_ABI_VERSION,
    .name = "word_count",
    .help = "Count the words of a text.",
    .map = map,
    .reduce = reduce,
    .combine = mr_combine_sum,
};
