/* Scopes; see scope.h. Most have a few names and are searched one by one; the
 * program's own gets a hash index. Spelling hints compare by edit distance
 * (Damerau-Levenshtein, restricted), within a limit that grows with the name.
 */
#include "sawzall-lite/front/scope.h"

#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"

/* Scopes below this size are searched one by one. */
#define INDEX_FROM 8

struct saw_scope *saw_scope_new(struct arena *a, struct saw_scope *outer)
{
    struct saw_scope *s = arena_zalloc(a, sizeof(*s));
    s->outer = outer;
    return s;
}

static void index_put(struct saw_scope *s, size_t position)
{
    uint64_t h = hash64_slice(s->decls.at[position]->name);
    size_t i;

    HASH_SLOTS_SEEK(i, s->index_size, h, !s->index[i]);
    s->index[i] = (uint32_t)(position + 1);
}

struct saw_decl *saw_scope_find(const struct saw_scope *s, struct slice name)
{
    size_t i;

    if (!s->index) {
        for (i = 0; i < s->decls.count; i++) {
            if (slice_eq(s->decls.at[i]->name, name))
                return s->decls.at[i];
        }
        return NULL;
    }
    HASH_SLOTS_SEEK(i, s->index_size, hash64_slice(name),
                    !s->index[i] ||
                        slice_eq(s->decls.at[s->index[i] - 1]->name, name));
    return s->index[i] ? s->decls.at[s->index[i] - 1] : NULL;
}

struct saw_decl *saw_scope_lookup(const struct saw_scope *s, struct slice name)
{
    for (; s; s = s->outer) {
        struct saw_decl *d = saw_scope_find(s, name);
        if (d)
            return d;
    }
    return NULL;
}

void saw_scope_add(struct arena *a, struct saw_scope *s, struct saw_decl *d)
{
    size_t i;

    saw_decls_add(a, &s->decls, d);
    INVARIANT(!s->index || s->decls.count <= s->index_size); /* INV-2 */
    if (s->decls.count < INDEX_FROM)
        return;
    if (s->index && s->decls.count * 2 <= s->index_size) {
        index_put(s, s->decls.count - 1);
        return;
    }
    s->index_size = s->index_size ? s->index_size * 4 : 32;
    s->index = arena_zalloc(a, s->index_size * sizeof(*s->index));
    for (i = 0; i < s->decls.count; i++)
        index_put(s, i);
}

/* Edits (insert, drop, replace, swap of neighbours) from @a to @b; more than
 * @max counts as @max + 1. Names of over 40 bytes are not compared. */
static unsigned scope_distance(struct slice a, struct slice b, unsigned max)
{
    unsigned rows[3][42];
    size_t i;
    size_t j;

    if (a.len > 40 || b.len > 40 || a.len > b.len + max || b.len > a.len + max)
        return max + 1;
    for (j = 0; j <= b.len; j++)
        rows[0][j] = (unsigned)j;
    for (i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *up = rows[(i + 2) % 3];
        const unsigned *up2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (j = 1; j <= b.len; j++) {
            unsigned d = up[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            d = MIN_OF(d, up[j] + 1);
            d = MIN_OF(d, row[j - 1] + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
                a.data[i - 2] == b.data[j - 1])
                d = MIN_OF(d, up2[j - 2] + 1);
            row[j] = d;
        }
    }
    return rows[a.len % 3][b.len];
}

struct slice saw_scope_similar(const struct saw_scope *s, struct slice name)
{
    unsigned best = name.len < 3 ? 0 : name.len < 6 ? 1 : 2;
    struct slice found = SLICE_EMPTY;
    size_t i;

    for (best++; s; s = s->outer) {
        for (i = 0; i < s->decls.count; i++) {
            unsigned d = scope_distance(name, s->decls.at[i]->name, best - 1);
            if (d < best) {
                best = d;
                found = s->decls.at[i]->name;
            }
        }
    }
    return found;
}
