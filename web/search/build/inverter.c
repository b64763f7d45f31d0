/* Postings grow in chains of small pieces, as many as there are terms at once;
 * the words of the document under way lie in one array, linked by term, until
 * the lengths of its fields are known.
 */
#include "web/search/build/inverter.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "web/search/segment/segment_writer.h"

/* --- chains -------------------------------------------------------------- */

#define PIECE_BYTES_MIN 24
#define PIECE_BYTES_MAX 4096

struct chain_piece {
    struct chain_piece *next;
    uint32_t len;
    uint32_t cap;
    char bytes[];
};

struct inverted_term {
    struct slice term; /* In the arena, as all here. */
    struct chain_piece *first;
    struct chain_piece *last;
    uint32_t next_document; /* Behind its last posting. */
    uint32_t postings;
    uint32_t first_word; /* Of the document under way; NO_WORD: none. */
    uint32_t last_word;
};

#define NO_WORD UINT32_MAX

struct document_word {
    uint32_t position;
    uint32_t next; /* Of the same term. */
    float count;
    uint8_t kind;
};

struct stored_row {
    struct slice key; /* In the arena. */
    uint64_t signature;
    uint32_t documents;
};

struct inverter {
    struct arena arena; /* Terms, chains, rows, times. */
    struct hash_map terms;

    struct document_word *words; /* Of the document under way. Owned. */
    size_t word_count;
    size_t word_cap;
    struct inverted_term **touched; /* Its terms. Owned. */
    size_t touched_count;
    size_t touched_cap;
    uint32_t lengths[WORD_KIND_COUNT];
    uint32_t *positions; /* Of one posting. Owned. */
    size_t positions_cap;

    struct stored_row *rows; /* Owned. */
    size_t row_count;
    size_t row_cap;
    struct segment_document *documents; /* Owned; times in the arena. */
    size_t document_count;
    size_t document_cap;
    uint64_t words_ever;
};

struct inverter *inverter_new(void)
{
    struct inverter *v = mem_zalloc(1, sizeof(*v));
    arena_init(&v->arena);
    hash_map_init(&v->terms, HASH_KEYS_BORROWED);
    return v;
}

void inverter_free(struct inverter *v)
{
    if (!v)
        return;
    hash_map_close(&v->terms);
    arena_close(&v->arena);
    mem_free(v->words);
    mem_free(v->touched);
    mem_free(v->positions);
    mem_free(v->rows);
    mem_free(v->documents);
    mem_free(v);
}

uint64_t inverter_rows(const struct inverter *v)
{
    return v->row_count;
}

uint64_t inverter_words(const struct inverter *v)
{
    return v->words_ever;
}

size_t inverter_bytes(const struct inverter *v)
{
    return v->arena.bytes + v->terms.cap * sizeof(struct hash_slot) +
           v->document_cap * sizeof(*v->documents) +
           v->row_cap * sizeof(*v->rows);
}

/* Make room for one more element of @size in an array of *@cap. */
static void *inverter_grow(void *array, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return array;
    *cap = MAX_OF(*cap * 2, 64);
    return mem_realloc(array, *cap * size);
}

/* --- coming in ----------------------------------------------------------- */

void inverter_row(struct inverter *v, struct slice key, uint64_t signature)
{
    INVARIANT(v->touched_count == 0); /* INV-1 */
    v->rows =
        inverter_grow(v->rows, v->row_count, &v->row_cap, sizeof(*v->rows));
    v->rows[v->row_count++] = (struct stored_row){
        .key = arena_dup(&v->arena, key), .signature = signature};
}

static struct inverted_term *term_of(struct inverter *v, struct slice bytes)
{
    union hash_value *at = hash_map_get(&v->terms, bytes);
    struct inverted_term *t;
    if (at)
        return at->pointer;
    t = arena_zalloc(&v->arena, sizeof(*t));
    t->term = arena_dup(&v->arena, bytes);
    t->first_word = NO_WORD;
    hash_map_put(&v->terms, t->term, NULL)->pointer = t;
    return t;
}

void inverter_word(struct inverter *v,
                   struct slice term,
                   uint32_t position,
                   enum word_kind kind,
                   float count)
{
    struct inverted_term *t;
    uint32_t at = (uint32_t)v->word_count;
    PRE(v->row_count > 0 && term.len <= SEGMENT_TERM_MAX);
    v->lengths[kind]++;
    v->words_ever++;
    if (term.len == 0)
        return;
    t = term_of(v, term);
    v->words =
        inverter_grow(v->words, v->word_count, &v->word_cap, sizeof(*v->words));
    v->words[v->word_count++] =
        (struct document_word){position, NO_WORD, count, (uint8_t)kind};
    if (t->first_word == NO_WORD) {
        t->first_word = at;
        v->touched =
            inverter_grow(v->touched, v->touched_count, &v->touched_cap,
                          sizeof(struct inverted_term *));
        v->touched[v->touched_count++] = t;
    } else {
        v->words[t->last_word].next = at;
    }
    t->last_word = at;
}

static void chain_append(struct inverter *v,
                         struct inverted_term *t,
                         const char *bytes,
                         size_t len)
{
    while (len) {
        struct chain_piece *p = t->last;
        size_t n;
        if (!p || p->len == p->cap) {
            size_t cap = p ? MIN_OF((size_t)p->cap * 2, PIECE_BYTES_MAX)
                           : PIECE_BYTES_MIN;
            struct chain_piece *q = arena_alloc(&v->arena, sizeof(*q) + cap);
            *q = (struct chain_piece){.cap = (uint32_t)cap};
            if (p)
                p->next = q;
            else
                t->first = q;
            t->last = p = q;
        }
        n = MIN_OF(len, (size_t)(p->cap - p->len));
        memcpy(p->bytes + p->len, bytes, n);
        p->len += (uint32_t)n;
        bytes += n;
        len -= n;
    }
}

static void
chain_varint(struct inverter *v, struct inverted_term *t, uint64_t n)
{
    char bytes[VARINT64_BYTES_MAX];
    chain_append(v, t, bytes, (size_t)(put_varint(bytes, n) - bytes));
}

/* The part of an occurrence in each field, by the document's lengths. */
static void kind_parts(const struct inverter *v, double parts[WORD_KIND_COUNT])
{
    for (int i = 0; i < WORD_KIND_COUNT; i++)
        parts[i] = word_kind_part((enum word_kind)i, v->lengths[i]);
}

static void put_posting(struct inverter *v,
                        struct inverted_term *t,
                        const double parts[WORD_KIND_COUNT])
{
    uint32_t document = (uint32_t)v->document_count;
    uint32_t frequency = 0;
    uint32_t before = 0;
    double w = 0;
    char weight;
    for (uint32_t i = t->first_word; i != NO_WORD; i = v->words[i].next) {
        w += parts[v->words[i].kind] * (double)v->words[i].count;
        frequency++;
    }
    INVARIANT(t->postings == 0 || document >= t->next_document); /* INV-2 */
    weight = (char)word_weight(w);
    chain_varint(v, t, document - t->next_document);
    chain_append(v, t, &weight, 1);
    chain_varint(v, t, frequency);
    for (uint32_t i = t->first_word; i != NO_WORD; i = v->words[i].next) {
        chain_varint(v, t, v->words[i].position - before);
        before = v->words[i].position;
    }
    t->next_document = document + 1;
    t->postings++;
    t->first_word = NO_WORD;
}

void inverter_document(struct inverter *v, const struct segment_document *d)
{
    double parts[WORD_KIND_COUNT];
    struct segment_document *to;
    int64_t *times = arena_alloc(&v->arena, d->time_count * sizeof(*times));
    PRE(v->row_count > 0 && d->time_count > 0);
    memcpy(times, d->times_us, d->time_count * sizeof(*times));
    kind_parts(v, parts);
    for (size_t i = 0; i < v->touched_count; i++)
        put_posting(v, v->touched[i], parts);
    v->touched_count = 0;
    v->word_count = 0;
    memset(v->lengths, 0, sizeof(v->lengths));
    v->documents = inverter_grow(v->documents, v->document_count,
                                 &v->document_cap, sizeof(*v->documents));
    to = &v->documents[v->document_count++];
    *to = *d;
    to->times_us = times;
    v->rows[v->row_count - 1].documents++;
}

/* --- going out ----------------------------------------------------------- */

static void flush_rows(struct inverter *v, struct segment_writer *w)
{
    size_t document = 0;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct stored_row *r = &v->rows[i];
        segment_writer_row(w, r->key, r->signature);
        for (uint32_t k = 0; k < r->documents; k++)
            (void)segment_writer_document(w, &v->documents[document++]);
    }
}

/* The bytes of a chain in one piece. */
static void chain_read(const struct inverted_term *t, struct buf *out)
{
    buf_clear(out);
    for (const struct chain_piece *p = t->first; p; p = p->next)
        buf_append(out, p->bytes, p->len);
}

static void flush_postings(struct inverter *v,
                           struct segment_writer *w,
                           const struct inverted_term *t,
                           struct slice chain)
{
    struct cursor c = cursor_make(chain);
    uint32_t document = 0;
    for (uint32_t i = 0; i < t->postings; i++) {
        uint8_t weight;
        size_t frequency;
        uint32_t position = 0;
        document += (uint32_t)cursor_varint(&c);
        weight = cursor_u8(&c);
        frequency = (size_t)cursor_varint(&c);
        if (frequency > v->positions_cap) {
            v->positions_cap = frequency * 2;
            v->positions = mem_realloc(v->positions, v->positions_cap *
                                                         sizeof(*v->positions));
        }
        for (size_t k = 0; k < frequency; k++) {
            position += (uint32_t)cursor_short_varint(&c);
            v->positions[k] = position;
        }
        segment_writer_posting(w, document, weight, v->positions, frequency);
        document++;
    }
    INVARIANT(!c.bad && cursor_left(&c) == 0);
}

static int by_term(const void *a, const void *b)
{
    const struct inverted_term *const *x = a;
    const struct inverted_term *const *y = b;
    return slice_cmp((*x)->term, (*y)->term);
}

static struct inverted_term **sorted_terms(struct inverter *v, size_t *count)
{
    struct inverted_term **list =
        mem_alloc((v->terms.count + 1) * sizeof(struct inverted_term *));
    struct hash_slot *slot;
    size_t at = 0;
    *count = 0;
    while ((slot = hash_map_next(&v->terms, &at)) != NULL)
        list[(*count)++] = slot->value.pointer;
    qsort(list, *count, sizeof(struct inverted_term *), by_term);
    return list;
}

int inverter_flush(struct inverter *v,
                   struct segment_writer *w,
                   struct err *err)
{
    size_t count;
    struct inverted_term **list = sorted_terms(v, &count);
    struct buf chain = BUF_INIT;
    int rc = 0;
    INVARIANT(v->touched_count == 0); /* INV-1 */
    flush_rows(v, w);
    for (size_t i = 0; i < count && !rc; i++) {
        rc = segment_writer_term(w, list[i]->term, err);
        chain_read(list[i], &chain);
        if (!rc)
            flush_postings(v, w, list[i], buf_slice(&chain));
    }
    if (!rc)
        rc = segment_writer_finish(w, err);
    mem_free(list);
    buf_close(&chain);
    hash_map_close(&v->terms);
    hash_map_init(&v->terms, HASH_KEYS_BORROWED);
    arena_close(&v->arena);
    arena_init(&v->arena);
    v->row_count = 0;
    v->document_count = 0;
    return rc;
}
