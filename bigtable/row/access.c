/* Lists of rights: reading, deciding, changing. A list is short, and is
 * searched line by line. A change is made in the text form, and the result has
 * one line for each family and right.
 */
#include "bigtable/row/access.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/schema.h"

#define EVERYTHING "*"
#define ALL_RIGHTS (ACCESS_READ | ACCESS_WRITE | ACCESS_OWN | ACCESS_CREATE)

/* A line. */
struct entry {
    struct slice family;
    struct slice right;
    unsigned rights;
    struct slice *principals;
    size_t principal_count;
    struct entry *next;
};

struct access_list {
    struct arena arena;
    struct entry *entries;
    struct entry **last;
    struct access_list *roles; /* Owned; NULL: none. */
};

/* --- reading ------------------------------------------------------------- */

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
    if (slice_eq_str(word, "create"))
        return ACCESS_CREATE;
    if (slice_eq_str(word, "member"))
        return ACCESS_MEMBER;
    /* An owner may do all. */
    return slice_eq_str(word, "own") ? ALL_RIGHTS : 0;
}

static bool is_name(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] <= ' ' || s.data[i] == '#')
            return false;
    return s.len > 0;
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
        if (!is_name(one))
            return err_set(err, ERR_INVALID,
                           "a principal without a name, or with a space, \"#\" "
                           "or control character in it");
        e->principals[e->principal_count++] = arena_dup(&l->arena, one);
        word = slice_sub(word, end + 1, word.len);
    }
    return 0;
}

static int add_entry(struct access_list *l,
                     struct slice family,
                     struct slice right,
                     struct slice principals,
                     struct err *err)
{
    struct entry *e = arena_zalloc(&l->arena, sizeof(*e));
    bool all = slice_eq_str(family, EVERYTHING);
    int rc = all ? 0 : schema_check_name("family", family, err);
    if (rc)
        return rc;
    e->family = arena_dup(&l->arena, family);
    e->right = arena_dup(&l->arena, right);
    e->rights = parse_right(right);
    if (e->rights == 0)
        return err_set(err, ERR_INVALID,
                       "the right %.*s: it may be read, write or own, and "
                       "create for the cluster",
                       SLICE_ARG(right));
    if (e->rights == ACCESS_CREATE && !all)
        return err_set(err, ERR_INVALID,
                       "the right create is none to families: \"* create …\"");
    *l->last = e;
    l->last = &e->next;
    return parse_principals(l, principals, e, err);
}

static int parse_line(struct access_list *l, struct slice line, struct err *err)
{
    struct slice family = next_word(&line);
    struct slice right = next_word(&line);
    struct slice principals = next_word(&line);
    if (principals.len == 0 || slice_trim(line).len > 0)
        return err_set(err, ERR_INVALID,
                       "a line is: family, right, principals");
    return add_entry(l, family, right, principals, err);
}

static int
parse_lines(struct access_list *l, struct slice text, struct err *err)
{
    for (unsigned number = 1; text.len > 0; number++) {
        size_t end = slice_find_byte(text, '\n');
        struct slice line = slice_sub(text, 0, end);
        int rc = 0;
        line = slice_trim(slice_sub(line, 0, slice_find_byte(line, '#')));
        if (line.len > 0)
            rc = parse_line(l, line, err);
        if (rc) {
            err_wrap(err, "line %u", number);
            return rc;
        }
        text = slice_sub(text, end + 1, text.len);
    }
    return 0;
}

int access_parse(struct slice text, struct access_list **out, struct err *err)
{
    struct access_list *l;
    int rc;
    *out = NULL;
    if (text.len > ACCESS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "a list of rights beyond %zu bytes",
                       ACCESS_BYTES_MAX);
    l = mem_zalloc(1, sizeof(*l));
    l->last = &l->entries;
    arena_init(&l->arena);
    rc = parse_lines(l, text, err);
    if (rc)
        access_free(l);
    else
        *out = l;
    return rc;
}

int access_parse_with(struct slice text,
                      struct slice roles,
                      struct access_list **out,
                      struct err *err)
{
    int rc = access_parse(text, out, err);
    if (rc == 0 && roles.len > 0) {
        rc = access_parse(roles, &(*out)->roles, err);
        if (rc)
            err_wrap(err, "roles");
    }
    if (rc) {
        access_free(*out);
        *out = NULL;
    }
    return rc;
}

void access_free(struct access_list *l)
{
    if (!l)
        return;
    access_free(l->roles);
    arena_close(&l->arena);
    mem_free(l);
}

/* --- deciding ------------------------------------------------------------ */

static bool is_member(const struct access_list *roles,
                      struct slice role,
                      struct slice principal)
{
    for (const struct entry *e = roles ? roles->entries : NULL; e; e = e->next)
        for (size_t i = 0; slice_eq(e->family, role) && i < e->principal_count;
             i++)
            if (slice_eq(e->principals[i], principal))
                return true;
    return false;
}

static bool is_named(const struct access_list *l,
                     const struct entry *e,
                     struct slice principal)
{
    const struct slice prefix = SLICE_LIT(ACCESS_ROLE_PREFIX);
    for (size_t i = 0; i < e->principal_count; i++) {
        struct slice one = e->principals[i];
        /* Nobody is a role by his own name. */
        if (slice_starts_with(one, prefix)
                ? is_member(l->roles, slice_sub(one, prefix.len, one.len),
                            principal)
                : slice_eq(one, principal) || slice_eq_str(one, EVERYTHING))
            return true;
    }
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
            is_named(l, e, principal))
            rights |= e->rights;
    return rights;
}

unsigned access_rights_anywhere(const struct access_list *l,
                                struct slice principal)
{
    unsigned rights = 0;
    if (!l)
        return ALL_RIGHTS;
    for (const struct entry *e = l->entries; e; e = e->next)
        if ((e->rights & ~rights) && is_named(l, e, principal))
            rights |= e->rights;
    return rights;
}

bool access_has_right(const struct access_list *l, enum access_right right)
{
    unsigned rights = right == ACCESS_OWN ? ALL_RIGHTS : (unsigned)right;
    for (const struct entry *e = l->entries; e; e = e->next)
        if (e->rights == rights && slice_eq_str(e->family, EVERYTHING))
            return true;
    return false;
}

int access_deny(struct slice principal,
                struct slice table,
                struct slice family,
                enum access_right right,
                struct err *err)
{
    static const char *const verbs[] = {"", "read", "write", "", "change"};
    static const char *const names[] = {"", "reader", "writer", "", "owner"};
    if (right == ACCESS_CREATE)
        err_set(err, ERR_DENIED,
                "\"%.*s\" may not create tables: it has not the right create",
                SLICE_ARG(principal));
    else if (table.len == 0)
        err_set(err, ERR_DENIED, "\"%.*s\" is no administrator of the cluster",
                SLICE_ARG(principal));
    else if (slice_eq_str(family, EVERYTHING))
        err_set(err, ERR_DENIED,
                "\"%.*s\" may not %s table \"%.*s\": not %s %s",
                SLICE_ARG(principal), verbs[right], SLICE_ARG(table),
                right == ACCESS_OWN ? "an" : "a", names[right]);
    else
        err_set(err, ERR_DENIED,
                "\"%.*s\" may not %s family \"%.*s\" of table \"%.*s\": not "
                "%s %s",
                SLICE_ARG(principal), verbs[right], SLICE_ARG(family),
                SLICE_ARG(table), right == ACCESS_OWN ? "an" : "a",
                names[right]);
    err_hint(err,
             table.len ? "its owners can: quarry acl grant %.*s …"
                       : "administrators can: quarry acl grant --whole-cluster "
                         "RIGHT PRINCIPAL",
             SLICE_ARG(table));
    return ERR_DENIED;
}

int access_check(const struct access_list *l,
                 struct slice principal,
                 struct slice table,
                 struct slice family,
                 enum access_right right,
                 struct err *err)
{
    if (access_rights(l, principal, family) & (unsigned)right)
        return 0;
    return access_deny(principal, table, family, right, err);
}

/* --- changing ------------------------------------------------------------ */

/* Is @e the first line about its family and right? */
static bool is_first(const struct access_list *l, const struct entry *e)
{
    for (const struct entry *i = l->entries; i != e; i = i->next)
        if (i->rights == e->rights && slice_eq(i->family, e->family))
            return false;
    return true;
}

static bool
access_has(const struct entry *e, size_t count, struct slice principal)
{
    for (size_t i = 0; i < count; i++)
        if (slice_eq(e->principals[i], principal))
            return true;
    return false;
}

/* Was the @n-th principal of @e named by a line before, for the same? */
static bool
was_named(const struct access_list *l, const struct entry *e, size_t n)
{
    for (const struct entry *i = l->entries; i != e; i = i->next)
        if (i->rights == e->rights && slice_eq(i->family, e->family) &&
            access_has(i, i->principal_count, e->principals[n]))
            return true;
    return access_has(e, n, e->principals[n]);
}

/* The lines like @first as one, without the principals of @without. */
static void put_line(const struct access_list *l,
                     const struct entry *first,
                     const struct entry *without,
                     struct buf *out)
{
    bool some = false;
    bool is_it = without && without->rights == first->rights &&
                 slice_eq(without->family, first->family);
    for (const struct entry *e = first; e; e = e->next) {
        if (e->rights != first->rights || !slice_eq(e->family, first->family))
            continue;
        for (size_t i = 0; i < e->principal_count; i++) {
            if (was_named(l, e, i) ||
                (is_it && access_has(without, without->principal_count,
                                     e->principals[i])))
                continue;
            if (!some)
                buf_printf(out, "%.*s %.*s ", SLICE_ARG(e->family),
                           SLICE_ARG(e->right));
            buf_printf(out, "%s%.*s", some ? "," : "",
                       SLICE_ARG(e->principals[i]));
            some = true;
        }
    }
    if (some)
        buf_append_byte(out, '\n');
}

int access_change(struct slice text,
                  bool add,
                  struct slice family,
                  struct slice right,
                  struct slice principals,
                  struct buf *out,
                  struct err *err)
{
    struct access_list *l;
    struct entry *change = NULL;
    struct entry **last;
    int rc = access_parse(text, &l, err);
    if (rc)
        return rc;
    last = l->last;
    rc = add_entry(l, family, right, principals, err);
    if (rc == 0 && !add) { /* Read as others are, but none of them. */
        change = *last;
        *last = NULL;
    }
    for (const struct entry *e = l->entries; rc == 0 && e; e = e->next)
        if (is_first(l, e))
            put_line(l, e, change, out);
    if (rc == 0 && out->len > ACCESS_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "a list of rights beyond %zu bytes",
                     ACCESS_BYTES_MAX);
    access_free(l);
    return rc;
}

/* --- roles --------------------------------------------------------------- */

void access_put_roles(const struct access_list *l,
                      struct slice principal,
                      struct buf *out)
{
    for (const struct entry *e = l ? l->entries : NULL; e; e = e->next)
        if (e->rights == ACCESS_MEMBER && is_first(l, e) &&
            is_member(l, e->family, principal))
            buf_printf(out, "%s%.*s", out->len ? "," : "",
                       SLICE_ARG(e->family));
}

static bool has_role(const struct access_list *l, struct slice role)
{
    for (const struct entry *e = l->entries; e; e = e->next)
        if (slice_eq(e->family, role))
            return true;
    return false;
}

static int check_verb(const struct access_list *l,
                      struct slice verb,
                      struct slice role,
                      struct err *err)
{
    bool there = has_role(l, role);
    if (slice_eq_str(verb, "create"))
        return there ? err_set(err, ERR_EXISTS, "role %.*s exists already",
                               SLICE_ARG(role))
                     : 0;
    if (!slice_eq_str(verb, "add") && !slice_eq_str(verb, "remove") &&
        !slice_eq_str(verb, "drop"))
        return err_set(err, ERR_INVALID, "a change of roles: \"%.*s\"",
                       SLICE_ARG(verb));
    if (there)
        return 0;
    err_set(err, ERR_NOTFOUND, "no role %.*s", SLICE_ARG(role));
    err_hint(err, "quarry acl role create makes one");
    return ERR_NOTFOUND;
}

/* Roles are no members, and not everybody is one. */
static int check_members(struct slice principals, struct err *err)
{
    while (principals.len > 0) {
        size_t end = slice_find_byte(principals, ',');
        struct slice one = slice_sub(principals, 0, end);
        if (slice_starts_with(one, SLICE_LIT(ACCESS_ROLE_PREFIX)) ||
            slice_eq_str(one, EVERYTHING))
            return err_set(err, ERR_INVALID,
                           "members of a role are principals, not %.*s",
                           SLICE_ARG(one));
        principals = slice_sub(principals, end + 1, principals.len);
    }
    return 0;
}

/* All lines but those of @role. */
static void
put_others(const struct access_list *l, struct slice role, struct buf *out)
{
    for (const struct entry *e = l->entries; e; e = e->next)
        if (is_first(l, e) && !slice_eq(e->family, role))
            put_line(l, e, NULL, out);
}

int access_change_roles(struct slice text,
                        struct slice verb,
                        struct slice role,
                        struct slice principals,
                        struct buf *out,
                        struct err *err)
{
    struct access_list *l;
    int rc = access_parse(text, &l, err);
    if (rc)
        return rc;
    rc = slice_eq_str(role, EVERYTHING)
             ? err_set(err, ERR_INVALID, "the name of a role")
             : check_verb(l, verb, role, err);
    if (rc == 0)
        rc = check_members(principals, err);
    if (rc == 0 && slice_eq_str(verb, "drop"))
        put_others(l, role, out);
    else if (rc == 0)
        rc = access_change(text, !slice_eq_str(verb, "remove"), role,
                           SLICE_LIT("member"), principals, out, err);
    access_free(l);
    return rc;
}
