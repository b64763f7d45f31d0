/* Blocks are judged, then what stands between two of the text is looked at
 * again: short lines, items and headings belong to the text around them. */
#include "mapreduce/warc/main_text.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/text_blocks.h"

/* A stricter choice is right while it has a fourth of the words: with less, the
 * <main> is a teaser, or the names mislead. */
#define LOSS_MAX 4
/* Blocks without text that may stand between two of the text. */
#define GAP_BLOCKS_MAX 3

struct main_text {
    struct text_blocks blocks;
    uint8_t *chosen; /* A byte a block; 1: it is text. Owned. */
    size_t cap;
    struct buf out;
};

struct main_text *main_text_new(void)
{
    return mem_zalloc(1, sizeof(struct main_text));
}

void main_text_free(struct main_text *m)
{
    if (!m)
        return;
    text_blocks_close(&m->blocks);
    buf_close(&m->out);
    mem_free(m->chosen);
    mem_free(m);
}

/* --- the decision tree --------------------------------------------------- */

/* Thirds and ninths of the tree's thresholds, in whole numbers. */
static bool more_links_than(const struct text_block *b, uint32_t of_9)
{
    return (uint64_t)b->link_words * 9 > (uint64_t)b->words * of_9;
}

/* 0.333333 and 0.555556 in the paper are 3/9 and 5/9. */
static bool is_text_by_tree(const struct text_block *prev,
                            const struct text_block *b,
                            const struct text_block *next)
{
    if (more_links_than(b, 3))
        return false;
    if (more_links_than(prev, 5))
        return b->words > 40 || next->words > 17;
    return b->words > 16 || next->words > 15 || prev->words > 4;
}

/* --- choosing ------------------------------------------------------------ */

/* Blocks with one of @out or without one of @in do not count at all: their
 * neighbours are neighbours of each other. */
struct choice {
    uint32_t out;
    uint32_t in; /* 0: any. */
};

static bool is_candidate(const struct text_block *b, struct choice c)
{
    return b->words > 0 && !(b->flags & c.out) && (!c.in || (b->flags & c.in));
}

static const struct text_block none = {.words = 0};

static size_t
next_candidate(const struct text_blocks *t, size_t i, struct choice c)
{
    while (i < t->count && !is_candidate(&t->at[i], c))
        i++;
    return i;
}

/* Judge the blocks; returns the words of those that are text. */
static uint64_t judge_blocks(struct main_text *m, struct choice c)
{
    const struct text_blocks *t = &m->blocks;
    const struct text_block *prev = &none;
    uint64_t words = 0;
    size_t i = next_candidate(t, 0, c);
    memset(m->chosen, 0, t->count);
    while (i < t->count) {
        size_t n = next_candidate(t, i + 1, c);
        const struct text_block *b = &t->at[i];
        const struct text_block *next = n < t->count ? &t->at[n] : &none;
        if (!(b->flags & TEXT_BLOCK_HEADING) &&
            is_text_by_tree(prev, b, next)) {
            m->chosen[i] = 1;
            words += b->words;
        }
        prev = b;
        i = n;
    }
    return words;
}

/* Blocks between two of the text, close to each other, join it if they are no
 * links; headings join what follows them. */
static void fill_gaps(struct main_text *m, struct choice c)
{
    const struct text_blocks *t = &m->blocks;
    size_t last = t->count; /* The last block of the text; none. */
    for (size_t i = 0; i < t->count; i++) {
        if (!m->chosen[i])
            continue;
        size_t from = last < t->count ? last + 1 : 0;
        bool is_near = last < t->count && i - last - 1 <= GAP_BLOCKS_MAX;
        for (size_t k = i; k-- > from;) {
            const struct text_block *b = &t->at[k];
            bool is_heading = b->flags & TEXT_BLOCK_HEADING;
            if (!is_candidate(b, c))
                continue;
            if (!(is_heading && i - k <= GAP_BLOCKS_MAX) &&
                !(is_near && !more_links_than(b, 5)))
                break;
            m->chosen[k] = 1;
        }
        last = i;
    }
}

static void put_chosen(struct main_text *m)
{
    const struct text_blocks *t = &m->blocks;
    for (size_t i = 0; i < t->count; i++) {
        if (!m->chosen[i])
            continue;
        buf_append_slice(&m->out, text_blocks_text(t, &t->at[i]));
        buf_append_byte(&m->out, '\n');
    }
}

static void read_blocks(struct main_text *m, struct slice html)
{
    buf_clear(&m->out);
    text_blocks_read(&m->blocks, html);
    if (m->cap >= m->blocks.count)
        return;
    m->cap = m->blocks.cap;
    m->chosen = mem_realloc(m->chosen, m->cap);
}

struct slice main_text_of(struct main_text *m, struct slice html)
{
    const uint32_t frames =
        TEXT_BLOCK_HIDDEN | TEXT_BLOCK_FRAME | TEXT_BLOCK_NAMED;
    /* The strictest first. */
    const struct choice choices[] = {
        {frames, TEXT_BLOCK_MAIN},
        {frames, 0},
        {TEXT_BLOCK_HIDDEN | TEXT_BLOCK_FRAME, 0},
        {TEXT_BLOCK_HIDDEN, 0},
    };
    size_t best = ARRAY_LEN(choices);
    uint64_t words[ARRAY_LEN(choices)];
    PRE(m != NULL);
    read_blocks(m, html);
    if (m->blocks.count == 0)
        return SLICE_EMPTY;
    /* From the last, which has the most. */
    for (size_t i = ARRAY_LEN(choices); i-- > 0;) {
        words[i] = judge_blocks(m, choices[i]);
        if (best == ARRAY_LEN(choices) ||
            (words[i] > 0 && words[i] * LOSS_MAX >= words[best]))
            best = i;
    }
    if (words[best] == 0)
        return SLICE_EMPTY;
    (void)judge_blocks(m, choices[best]);
    fill_gaps(m, choices[best]);
    put_chosen(m);
    return buf_slice(&m->out);
}

struct slice main_text_all(struct main_text *m, struct slice html)
{
    PRE(m != NULL);
    read_blocks(m, html);
    if (m->blocks.count == 0)
        return SLICE_EMPTY;
    for (size_t i = 0; i < m->blocks.count; i++)
        m->chosen[i] = !(m->blocks.at[i].flags & TEXT_BLOCK_HIDDEN);
    put_chosen(m);
    return buf_slice(&m->out);
}

struct slice main_text_plain(struct main_text *m, struct slice text)
{
    PRE(m != NULL);
    if (html_text_is_utf8(text, NULL))
        return text;
    buf_clear(&m->out);
    buf_append_slice(&m->out, slice_sub(text, 0, TEXT_BLOCKS_BYTES_MAX));
    html_text_fix(&m->out, 0);
    return buf_slice(&m->out);
}
