/* The text of a page of HTML in blocks: what stands between two tags that are
 * not inline, with the shallow features by which boilerplate is told from text
 * (C. Kohlschütter, P. Fankhauser, W. Nejdl, Boilerplate Detection using
 * Shallow Text Features, WSDM 2010): words, words in links, and the elements
 * around it. A block is a line of valid UTF-8, blanks collapsed.
 *
 * Linear in the input. Threads: one at a time. Nothing waits.
 *
 * Invariants
 *     INV-1. Blocks lie in text in order, each followed by a line end.
 *     INV-2. link_words <= words.
 */
#ifndef MAPREDUCE_WARC_TEXT_BLOCKS_H
#define MAPREDUCE_WARC_TEXT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Text behind this much of a page is left out. */
#define TEXT_BLOCKS_BYTES_MAX ((size_t)8 << 20)
#define TEXT_BLOCKS_COUNT_MAX ((size_t)1 << 17)
/* Elements open at a time that are remembered. */
#define TEXT_BLOCKS_DEPTH_MAX 256

enum text_block_flags {
    TEXT_BLOCK_HIDDEN = 1, /* <noscript>, <template>, <svg>, … : not shown. */
    TEXT_BLOCK_FRAME = 2,  /* In <nav>, <footer>, <aside>, <form>, … */
    TEXT_BLOCK_NAMED = 4,  /* In an element named as such: class="sidebar". */
    TEXT_BLOCK_MAIN = 8,   /* In <main> or <article>. */
    TEXT_BLOCK_HEADING = 16,
    TEXT_BLOCK_ITEM = 32, /* In a list. */
    TEXT_BLOCK_TABLE = 64,
    TEXT_BLOCK_PARAGRAPH = 128, /* Begins with <p>, or is quoted or code. */
};

struct text_block {
    size_t at; /* In text, */
    size_t len;
    uint32_t words;
    uint32_t link_words;
    uint32_t flags; /* enum text_block_flags, or'ed. */
};

/* An element that is open. */
struct text_element {
    char name[12]; /* Lower case; longer names are cut. */
    uint32_t flags;
};

struct text_blocks {
    struct buf text;
    struct text_block *at; /* Owned. */
    size_t count;
    size_t cap;

    /* While reading. */
    struct buf line;
    struct text_block block;
    struct text_element open[TEXT_BLOCKS_DEPTH_MAX];
    size_t depth;
    size_t depth_beyond; /* Open elements that had no room. */
    size_t links;        /* Open <a href>. */
};

void text_blocks_close(struct text_blocks *t); /* Also of a zeroed one. */

/* Read the blocks of @html, UTF-8, in place of those of the page before. */
void text_blocks_read(struct text_blocks *t, struct slice html);

/* Borrowed from @t until it reads again. */
struct slice text_blocks_text(const struct text_blocks *t,
                              const struct text_block *b);

/* The next word of *@rest, which it is cut off with what precedes it: a run of
 * letters and digits, or a character of a script without blanks between words.
 * False: there is none. */
bool text_word_next(struct slice *rest, struct slice *word);

/* Words of @text; of scripts without blanks, two characters are one. */
uint32_t text_words(struct slice text);

#endif /* MAPREDUCE_WARC_TEXT_BLOCKS_H */
