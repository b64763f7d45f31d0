/* Rights given by path. Most inodes have no grants, so they are kept in a map
 * beside the tree and not in the inodes; where the map is empty a check costs
 * one branch.
 */
#include "gfs-lite/namenode/grants.h"

#include "base/core/panic.h"
#include "gfs-lite/namenode/inode.h"
#include "gfs-lite/namenode_command.h"

#define EVERYBODY   "*"
#define ROLE_PREFIX SLICE_LIT("role:")

/* --- lists --------------------------------------------------------------- */

static void free_list(struct grant_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        mem_free(l->grants[i].principal);
    mem_free(l->grants);
    mem_free(l);
}

void grants_close(struct id_map *m)
{
    size_t at = 0;
    struct grant_list *l;
    while ((l = id_map_next(m, &at)))
        free_list(l);
    id_map_close(m);
}

const struct grant_list *grants_of(const struct id_map *m,
                                   const struct inode *n)
{
    return m->count ? id_map_get(m, n->id) : NULL;
}

void grants_forget(struct id_map *m, uint64_t id)
{
    struct grant_list *l = m->count ? id_map_get(m, id) : NULL;
    if (!l)
        return;
    INVARIANT(l->id == id);
    id_map_remove(m, id);
    free_list(l);
}

static struct grant_list *list_for(struct id_map *m, const struct inode *n)
{
    struct grant_list *l = id_map_get(m, n->id);
    if (!l) {
        l = mem_zalloc(1, sizeof(*l));
        l->id = n->id;
        id_map_put(m, l);
    }
    POST(l->id == n->id);
    return l;
}

static void drop_grant(struct grant_list *l, size_t at)
{
    PRE(at < l->count);
    mem_free(l->grants[at].principal);
    for (l->count--; at < l->count; at++)
        l->grants[at] = l->grants[at + 1];
}

static void drop_empty(struct id_map *m, struct grant_list *l)
{
    if (l->count == 0)
        grants_forget(m, l->id);
}

int grants_add(struct id_map *m,
               const struct inode *n,
               struct slice principal,
               uint8_t rights,
               bool by_owner,
               struct err *err)
{
    PRE(rights != 0); /* INV-2 */
    struct grant_list *l = list_for(m, n);
    for (size_t i = 0; i < l->count; i++)
        if (l->grants[i].by_owner == by_owner &&
            slice_eq_str(principal, l->grants[i].principal)) {
            l->grants[i].rights |= rights;
            return 0;
        }
    if (l->count == GRANTS_MAX)
        return err_set(err, ERR_EXHAUSTED, "more than %d grants of one path",
                       GRANTS_MAX);
    l->grants = mem_realloc(l->grants, (l->count + 1) * sizeof(*l->grants));
    INVARIANT(l->count < GRANTS_MAX); /* INV-1 */
    l->grants[l->count++] =
        (struct grant){.principal = mem_strndup(principal.data, principal.len),
                       .rights = rights,
                       .by_owner = by_owner};
    return 0;
}

void grants_take(struct id_map *m,
                 const struct inode *n,
                 struct slice principal,
                 uint8_t rights)
{
    struct grant_list *l = m->count ? id_map_get(m, n->id) : NULL;
    if (!l)
        return;
    PRE(rights != 0);
    for (size_t i = l->count; i > 0; i--) {
        struct grant *g = &l->grants[i - 1];
        if (!slice_eq_str(principal, g->principal))
            continue;
        g->rights &= (uint8_t)~rights;
        if (g->rights == 0)
            drop_grant(l, i - 1);
    }
    drop_empty(m, l);
}

void grants_drop_owners(struct id_map *m, const struct inode *n)
{
    struct grant_list *l = m->count ? id_map_get(m, n->id) : NULL;
    if (!l)
        return;
    INVARIANT(l->id == n->id);
    for (size_t i = l->count; i > 0; i--)
        if (l->grants[i - 1].by_owner)
            drop_grant(l, i - 1);
    drop_empty(m, l);
}

void grants_copy(struct id_map *m,
                 const struct inode *from,
                 const struct inode *to)
{
    const struct grant_list *l = grants_of(m, from);
    PRE(!l || from != to);
    for (size_t i = 0; l && i < l->count; i++) {
        const struct grant *g = &l->grants[i];
        if (grants_add(m, to, slice_str(g->principal), g->rights, g->by_owner,
                       NULL))
            PANIC("a copy of a list is as long as the list");
    }
}

/* --- deciding ------------------------------------------------------------ */

static bool is_among(struct slice role, struct slice roles)
{
    while (roles.len > 0) {
        size_t end = slice_find_byte(roles, ',');
        if (slice_eq(role, slice_sub(roles, 0, end)))
            return true;
        roles = slice_sub(roles, end + 1, roles.len);
    }
    return false;
}

static bool
is_meant(const struct grant *g, struct slice principal, struct slice roles)
{
    struct slice named = slice_str(g->principal);
    /* A principal's own name never matches a role. */
    if (slice_starts_with(named, ROLE_PREFIX))
        return is_among(slice_sub(named, ROLE_PREFIX.len, named.len), roles);
    return slice_eq(named, principal) || slice_eq_str(named, EVERYBODY);
}

unsigned grants_rights(const struct id_map *m,
                       const struct inode *n,
                       struct slice principal,
                       struct slice roles)
{
    unsigned rights = 0;
    PRE(n);
    if (LIKELY(m->count == 0))
        return 0;
    for (const struct inode *up = n; up; up = up->parent) {
        const struct grant_list *l = grants_of(m, up);
        for (size_t i = 0; l && i < l->count; i++)
            if ((!l->grants[i].by_owner || up->owner == n->owner) &&
                is_meant(&l->grants[i], principal, roles))
                rights |= l->grants[i].rights;
    }
    return rights;
}

int grants_check_principal(struct slice principal, struct err *err)
{
    struct slice name = principal;
    bool good;
    if (slice_starts_with(name, ROLE_PREFIX))
        name = slice_sub(name, ROLE_PREFIX.len, name.len);
    good = name.len > 0 && principal.len <= GFS_TEXT_BYTES_MAX;
    for (size_t i = 0; good && i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        good = c > ' ' && c != 0x7f && c != ',' && c != '#';
    }
    return good ? 0
                : err_set(err, ERR_INVALID,
                          "a principal without a name, or with a space, comma, "
                          "\"#\" or control character in it");
}
