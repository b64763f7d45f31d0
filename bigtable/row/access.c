/* Lists of rights: reading and deciding. */
#include "bigtable/row/access.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/row/schema.h"

#define EVERYTHING "*"
#define ALL_RIGHTS (ACCESS_READ | ACCESS_WRITE | ACCESS_OWN)

/* A line. */
struct entry {
    struct slice family;
    unsigned rights;
    struct slice *principals;
    size_t principal_count;
    struct entry *next;
};

struct access_list {
    struct arena arena;
    struct entry *entries;
};

/* --- reading ------------------------------------------------------------ */

/* The next word of @line, cut off; empty at its end. */
static struct slice next_word(struct slice *line)
{
    struct slice rest = slice_trim(*line);
    size_t end = 0;
    while (end < rest.len && rest.data[end] != ' ' && rest.data[end] != '\t')
        end++;
    *line = slice_sub(rest, end, rest.len);
    return slice_sub(rest, 0, end);
}

static unsigned parse_right(struct slice word)
{
    if (slice_eq_str(word, "read"))
        return ACCESS_READ;
    if (slice_eq_str(word, "write"))
        return ACCESS_WRITE;
    /* Who owns may do all. */
    return slice_eq_str(word, "own") ? ALL_RIGHTS : 0;
}

static int parse_principals(struct access_list *l,
                            struct slice word,
                            struct entry *e,
                            struct err *err)
{
    size_t count = 1;
    for (size_t i = 0; i < word.len; i++)
        count += word.data[i] == ',';
    if (count > ACCESS_PRINCIPALS_MAX)
        return err_set(err, ERR_TOOBIG, "more than %d principals",
                       ACCESS_PRINCIPALS_MAX);
    e->principals = arena_alloc(&l->arena, count * sizeof(*e->principals));
    while (e->principal_count < count) {
        size_t end = slice_find_byte(word, ',');
        struct slice one = slice_sub(word, 0, end);
        if (one.len == 0)
            return err_set(err, ERR_INVALID, "a principal without a name");
        e->principals[e->principal_count++] = arena_dup(&l->arena, one);
        word = slice_sub(word, end + 1, word.len);
    }
    return 0;
}

static int parse_line(struct access_list *l, struct slice line, struct err *err)
{
    struct entry *e = arena_zalloc(&l->arena, sizeof(*e));
    struct slice family = next_word(&line);
    struct slice right = next_word(&line);
    struct slice principals = next_word(&line);
    int code;

    if (principals.len == 0 || slice_trim(line).len > 0)
        return err_set(err, ERR_INVALID,
                       "a line is: family, right, principals");
    if (!slice_eq_str(family, EVERYTHING)) {
        code = schema_check_name("family", family, err);
        if (code)
            return code;
    }
    e->family = arena_dup(&l->arena, family);
    e->rights = parse_right(right);
    if (e->rights == 0)
        return err_set(err, ERR_INVALID,
                       "the right %.*s: it may be read, write or own",
                       SLICE_ARG(right));
    e->next = l->entries;
    l->entries = e;
    return parse_principals(l, principals, e, err);
}

static int
parse_lines(struct access_list *l, struct slice text, struct err *err)
{
    for (unsigned number = 1; text.len > 0; number++) {
        size_t end = slice_find_byte(text, '\n');
        struct slice line = slice_sub(text, 0, end);
        int code = 0;
        line = slice_trim(slice_sub(line, 0, slice_find_byte(line, '#')));
        if (line.len > 0)
            code = parse_line(l, line, err);
        if (code) {
            err_wrap(err, "line %u", number);
            return code;
        }
        text = slice_sub(text, end + 1, text.len);
    }
    return 0;
}

int access_parse(struct slice text, struct access_list **out, struct err *err)
{
    struct access_list *l;
    int code;
    *out = NULL;
    if (text.len > ACCESS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "a list of rights beyond %zu bytes",
                       ACCESS_BYTES_MAX);
    l = mem_zalloc(1, sizeof(*l));
    arena_init(&l->arena);
    code = parse_lines(l, text, err);
    if (code)
        access_free(l);
    else
        *out = l;
    return code;
}

void access_free(struct access_list *l)
{
    if (!l)
        return;
    arena_close(&l->arena);
    mem_free(l);
}

/* --- deciding ----------------------------------------------------------- */

static bool is_named(const struct entry *e, struct slice principal)
{
    for (size_t i = 0; i < e->principal_count; i++)
        if (slice_eq(e->principals[i], principal) ||
            slice_eq_str(e->principals[i], EVERYTHING))
            return true;
    return false;
}

unsigned access_rights(const struct access_list *l,
                       struct slice principal,
                       struct slice family)
{
    unsigned rights = 0;
    if (!l)
        return ALL_RIGHTS;
    for (const struct entry *e = l->entries; e; e = e->next)
        if ((e->rights & ~rights) &&
            (slice_eq_str(e->family, EVERYTHING) ||
             slice_eq(e->family, family)) &&
            is_named(e, principal))
            rights |= e->rights;
    return rights;
}

int access_check(const struct access_list *l,
                 struct slice principal,
                 struct slice family,
                 enum access_right right,
                 struct err *err)
{
    const char *name = right == ACCESS_READ    ? "read"
                       : right == ACCESS_WRITE ? "write"
                                               : "own";
    if (access_rights(l, principal, family) & (unsigned)right)
        return 0;
    if (slice_eq_str(family, EVERYTHING))
        err_set(err, ERR_DENIED, "%.*s has not the right to %s the table",
                SLICE_ARG(principal), name);
    else
        err_set(err, ERR_DENIED, "%.*s has not the right to %s family %.*s",
                SLICE_ARG(principal), name, SLICE_ARG(family));
    err_hint(err, "an owner can add it to the table's list of rights");
    return ERR_DENIED;
}
