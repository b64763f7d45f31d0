/* How often each word occurs. Words are runs of bytes above the space.
 *
 * Built with SSE2, 64 bytes at a time become a mask of those in words, and only
 * the places where it changes are looked at; otherwise, and in texts shorter
 * than a vector, each byte is. */
#include "jobs/jobs.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static void
word_count_emit(struct mr_task *t, const char *word, const char *end)
{
    mr_emit_count(t, slice_make(word, (size_t)(end - word)), 1);
}

/* Count the words of a text, byte by byte. */
static void count_bytes(struct mr_task *t, const char *p, const char *end)
{
    const char *word = NULL;
    for (; p < end; p++) {
        bool letter = (unsigned char)*p > ' ';
        if (letter && !word)
            word = p;
        if (!letter && word) {
            word_count_emit(t, word, p);
            word = NULL;
        }
    }
    if (word)
        word_count_emit(t, word, end);
}

#if defined(__SSE2__)
#define VECTOR 16

/* Bit i: byte i of the 16 at @p is part of a word. */
static uint64_t letters_16(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i space = _mm_set1_epi8(' ');
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, space), v);
    return ~(unsigned)_mm_movemask_epi8(low) & 0xffff;
}

/* The same of up to 64 bytes, which may continue or end a text of at least 16.
 */
static uint64_t word_count_letters(const char *p, size_t n)
{
    uint64_t m = 0;
    size_t i = 0;
    for (; i + VECTOR <= n; i += VECTOR)
        m |= letters_16(p + i) << i;
    if (i < n)
        m |= letters_16(p + n - VECTOR) >> (i + VECTOR - n) << i;
    return m;
}

/* Sixty-four bytes at a time: a word begins or ends where the mask changes. */
static void count_words(struct mr_task *t, struct slice text)
{
    const char *p = text.data;
    const char *end = p + text.len;
    const char *word = NULL;
    if (text.len < VECTOR) {
        count_bytes(t, p, end);
        return;
    }
    for (size_t n; p < end; p += n) {
        uint64_t m;
        uint64_t edges;
        n = MIN_OF((size_t)(end - p), (size_t)64);
        m = word_count_letters(p, n);
        edges = m ^ (m << 1 | (word != NULL));
        while (edges) {
            const char *at = p + __builtin_ctzll(edges);
            edges &= edges - 1;
            if (word)
                word_count_emit(t, word, at);
            word = word ? NULL : at;
        }
    }
    if (word)
        word_count_emit(t, word, end);
}
#else
static void count_words(struct mr_task *t, struct slice text)
{
    count_bytes(t, text.data, text.data + text.len);
}
#endif

static int word_count_map(struct mr_task *t,
                          const struct mr_record *record,
                          struct err *err)
{
    (void)err;
    count_words(t, record->value);
    return 0;
}

static int word_count_reduce(struct mr_task *t,
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
    .no_table_output = true,
    .name = "word_count",
    .help = "Count the words of a text.",
    .map = word_count_map,
    .reduce = word_count_reduce,
    .combine = mr_combine_sum,
};
