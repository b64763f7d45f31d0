/* The state of manifest_state.h: applying edits to it, and making the edit that
 * gives all of it; manifest_edit.c builds single operations. Bytes come from a
 * disk, so each operation is checked against the state; one that fails leaves
 * the state partly changed, and its owner throws it away.
 */
#include "bigtable/store/manifest_state.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/store/manifest_ops.h"

/* Those of files, tables and tablets: the next one does not overflow. */
#define ID_MAX (UINT64_MAX / 2)

#define FILE_ENCODED_MIN  8 /* Bytes of the smallest file, */
#define GROUP_ENCODED_MIN 3 /* and group. */

void manifest_state_init(struct manifest_state *s)
{
    *s = (struct manifest_state){
        .next_number = 1, .next_table = 1, .next_tablet = 1};
}

static void file_close(struct lsm_table *f)
{
    mem_free((char *)(uintptr_t)f->first_key.data);
}

static void group_close(struct manifest_group *g)
{
    PRE(g->files || g->file_count == 0);
    for (size_t i = 0; i < g->file_count; i++)
        file_close(&g->files[i]);
    mem_free(g->files);
}

static void tablet_close(struct manifest_tablet *t)
{
    for (size_t i = 0; i < t->group_count; i++)
        group_close(&t->groups[i]);
    mem_free(t->groups);
    buf_close(&t->start);
    buf_close(&t->end);
    buf_close(&t->done);
    changes_record_close(&t->changes);
}

void manifest_state_close(struct manifest_state *s)
{
    for (size_t i = 0; i < s->table_count; i++)
        schema_free(s->tables[i].schema);
    for (size_t i = 0; i < s->tablet_count; i++)
        tablet_close(&s->tablets[i]);
    for (size_t i = 0; i < s->snapshot_count; i++)
        mem_free(s->snapshots[i]);
    mem_free(s->snapshots);
    mem_free(s->log_segments);
    mem_free(s->tables);
    mem_free(s->tablets);
    manifest_state_init(s);
    POST(s->tablet_count == 0);
    POST(s->table_count == 0);
}

struct manifest_tablet *manifest_state_tablet(const struct manifest_state *s,
                                              uint64_t id)
{
    PRE(s->tablets || s->tablet_count == 0);
    for (size_t i = 0; i < s->tablet_count; i++)
        if (s->tablets[i].id == id)
            return &s->tablets[i];
    return NULL;
}

struct manifest_group *manifest_tablet_group(const struct manifest_tablet *t,
                                             uint32_t id)
{
    PRE(t->group_count <= GROUP_COUNT_MAX);
    for (size_t i = 0; i < t->group_count; i++)
        if (t->groups[i].id == id)
            return &t->groups[i];
    return NULL;
}

static void manifest_state_check(const struct manifest_state *s)
{
    INVARIANT(s->next_number > 0); /* INV-2 */
    INVARIANT(s->next_table > 0);
    INVARIANT(s->next_tablet > 0);
    INVARIANT(s->table_count == 0 || s->tables);
    INVARIANT(s->tablet_count == 0 || s->table_count > 0); /* INV-1 */
}

/* --- encoding ------------------------------------------------------------ */

void manifest_state_encode(const struct manifest_state *s, struct buf *out)
{
    manifest_state_check(s);
    edit_put_counters(out, s->next_number, s->next_table, s->next_tablet,
                      s->sequence);
    for (size_t i = 0; i < s->table_count; i++)
        edit_put_table(out, s->tables[i].id, s->tables[i].name,
                       s->tables[i].schema);
    for (size_t i = 0; i < s->tablet_count; i++) {
        const struct manifest_tablet *t = &s->tablets[i];
        edit_put_tablet(out, t->id, t->table, buf_slice(&t->start),
                        buf_slice(&t->end), t->groups, t->group_count);
        edit_put_loads(out, t->id, t->loads, t->load_count);
        edit_put_stamp(out, t->id, t->stamped_us);
        edit_put_done(out, t->id, buf_slice(&t->done), true);
        edit_put_changes_of(out, t->id, &t->changes, SLICE_EMPTY, SLICE_EMPTY);
    }
    if (s->log_segment_count)
        edit_put_log(out, s->log_segments, s->log_segment_count,
                     s->log_position);
    for (size_t i = 0; i < s->snapshot_count; i++)
        edit_put_snapshot(out, s->snapshots[i]);
}

/* --- applying ------------------------------------------------------------ */

/* One file; its keys are copied into one allocation, borrowed by last_key. */
static void read_file(struct cursor *c, struct lsm_table *f)
{
    struct slice first;
    struct slice last;
    uint64_t run;
    char *keys;
    f->number = cursor_varint(c);
    f->bytes = cursor_varint(c);
    f->entry_count = cursor_varint(c);
    f->sequence_min = cursor_varint(c);
    f->sequence_max = cursor_varint(c);
    run = cursor_varint(c);
    c->bad |= run > UINT32_MAX;
    c->bad |= f->number > ID_MAX;
    f->run = (uint32_t)run;
    first = cursor_lslice(c);
    last = cursor_lslice(c);
    keys = mem_alloc(first.len + last.len + 1);
    if (first.len)
        memcpy(keys, first.data, first.len);
    if (last.len)
        memcpy(keys + first.len, last.data, last.len);
    f->first_key = slice_make(keys, first.len);
    f->last_key = slice_make(keys + first.len, last.len);
    POST(f->last_key.data == f->first_key.data + f->first_key.len);
}

static void note_file(struct manifest_state *s, const struct lsm_table *f)
{
    if (f->number >= s->next_number)
        s->next_number = f->number + 1;
    if (f->sequence_max > s->sequence)
        s->sequence = f->sequence_max;
    POST(s->next_number > f->number);     /* INV-2 */
    POST(s->sequence >= f->sequence_max); /* INV-3 */
}

static void
read_files(struct manifest_state *s, struct cursor *c, struct manifest_group *g)
{
    size_t count = cursor_count(c, FILE_ENCODED_MIN);
    INVARIANT(g->files || g->file_count == 0);
    if (c->bad || count == 0)
        return;
    g->files =
        mem_realloc(g->files, (g->file_count + count) * sizeof(*g->files));
    for (size_t i = 0; i < count && !c->bad; i++) {
        read_file(c, &g->files[g->file_count]);
        if (!c->bad)
            note_file(s, &g->files[g->file_count]);
        g->file_count++;
    }
}

static struct manifest_table *find_table(struct manifest_state *s, uint64_t id)
{
    PRE(s->tables || s->table_count == 0);
    for (size_t i = 0; i < s->table_count; i++)
        if (s->tables[i].id == id)
            return &s->tables[i];
    return NULL;
}

static int
apply_put_table(struct manifest_state *s, struct cursor *c, struct err *err)
{
    uint64_t id = cursor_varint(c);
    struct slice name = cursor_lslice(c);
    struct slice bytes = cursor_lslice(c);
    struct manifest_table *t = find_table(s, id);
    struct schema *schema;
    int rc;
    if (c->bad || id > ID_MAX || schema_check_table_name(name, NULL) != 0) {
        c->bad = true;
        return 0;
    }
    rc = schema_decode(bytes, &schema, err);
    if (rc)
        return rc;
    if (!t) {
        s->tables =
            mem_realloc(s->tables, (s->table_count + 1) * sizeof(*s->tables));
        t = &s->tables[s->table_count++];
        *t = (struct manifest_table){.id = id};
    }
    memcpy(t->name, name.data, name.len);
    t->name[name.len] = '\0';
    schema_free(t->schema);
    t->schema = schema;
    if (id >= s->next_table)
        s->next_table = id + 1;
    POST(s->next_table > id); /* INV-2 */
    return 0;
}

static void remove_tablet(struct manifest_state *s, size_t i)
{
    PRE(i < s->tablet_count);
    tablet_close(&s->tablets[i]);
    s->tablets[i] = s->tablets[--s->tablet_count];
}

static void apply_drop_table(struct manifest_state *s, struct cursor *c)
{
    uint64_t id = cursor_varint(c);
    struct manifest_table *t = find_table(s, id);
    if (c->bad || !t) {
        c->bad = true;
        return;
    }
    schema_free(t->schema);
    *t = s->tables[--s->table_count];
    for (size_t i = s->tablet_count; i > 0; i--)
        if (s->tablets[i - 1].table == id)
            remove_tablet(s, i - 1);
    INVARIANT(!find_table(s, id)); /* INV-1 */
}

static void read_groups(struct manifest_state *s,
                        struct cursor *c,
                        struct manifest_tablet *t)
{
    size_t count = cursor_count(c, GROUP_ENCODED_MIN);
    c->bad |= count > GROUP_COUNT_MAX;
    if (c->bad)
        return;
    t->groups = mem_zalloc(count + 1, sizeof(*t->groups));
    while (t->group_count < count && !c->bad) {
        struct manifest_group *g = &t->groups[t->group_count++];
        uint64_t id = cursor_varint(c);
        c->bad |= id > UINT32_MAX;
        g->id = (uint32_t)id;
        g->flushed_sequence = cursor_varint(c);
        read_files(s, c, g);
    }
    POST(t->group_count <= GROUP_COUNT_MAX);
}

static void apply_put_tablet(struct manifest_state *s, struct cursor *c)
{
    uint64_t id = cursor_varint(c);
    struct manifest_tablet t = {.id = id, .table = cursor_varint(c)};
    buf_append_slice(&t.start, cursor_lslice(c));
    buf_append_slice(&t.end, cursor_lslice(c));
    c->bad |= id > ID_MAX || !find_table(s, t.table) ||
              manifest_state_tablet(s, id) != NULL;
    read_groups(s, c, &t);
    if (c->bad) {
        tablet_close(&t);
        return;
    }
    s->tablets =
        mem_realloc(s->tablets, (s->tablet_count + 1) * sizeof(*s->tablets));
    s->tablets[s->tablet_count++] = t;
    if (id >= s->next_tablet)
        s->next_tablet = id + 1;
    POST(s->next_tablet > id); /* INV-2 */
}

static void apply_put_loads(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    size_t count = cursor_count(c, 1);
    c->bad |= !t || count > TABLET_LOADS_MAX;
    if (c->bad)
        return;
    for (size_t i = 0; i < count; i++)
        t->loads[i] = cursor_varint(c);
    t->load_count = count;
    POST(t->load_count <= TABLET_LOADS_MAX);
}

static void apply_put_stamp(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    uint64_t us = cursor_varint(c);
    INVARIANT(!t || t->stamped_us >= 0);
    c->bad |= !t || us > INT64_MAX;
    if (!c->bad)
        t->stamped_us = MAX_OF(t->stamped_us, (int64_t)us);
}

static void apply_put_done(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    struct slice done = cursor_lslice(c);
    c->bad |= !t;
    if (c->bad)
        return;
    buf_clear(&t->done);
    buf_append_slice(&t->done, done);
}

/* Of a file that is there twice, the changes go before the past. */
static void
remove_change_file(struct changes_record *r, uint64_t number, struct cursor *c)
{
    size_t found = r->file_count;
    PRE(r->files || r->file_count == 0);
    for (size_t i = 0; i < r->file_count; i++)
        if (r->files[i].file.table.number == number &&
            (found == r->file_count || change_file_is_past(&r->files[found])))
            found = i;
    if (found == r->file_count) {
        c->bad = true;
        return;
    }
    change_file_info_close(&r->files[found]);
    r->files[found] = r->files[--r->file_count];
}

static void read_change_file(struct manifest_state *s,
                             struct cursor *c,
                             struct changes_record *r)
{
    uint64_t group = cursor_varint(c);
    struct change_file_info f = {.group = (uint32_t)group};
    f.file.extent.end_sequence = cursor_varint(c);
    f.file.extent.first_us = cursor_zigzag(c);
    f.file.extent.last_us = cursor_zigzag(c);
    read_file(c, &f.file.table);
    c->bad |= group > UINT32_MAX ||
              (!change_file_is_past(&f) &&
               f.file.extent.end_sequence < f.file.table.sequence_max);
    if (!c->bad) {
        note_file(s, &f.file.table);
        change_file_info_copy(&f, &r->files[r->file_count++]);
    }
    file_close(&f.file.table);
    POST(c->bad || r->file_count > 0);
}

static void apply_put_changes(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    uint64_t floor = cursor_varint(c);
    int64_t floor_us = cursor_zigzag(c);
    size_t removed = cursor_count(c, 1);
    struct changes_record *r;
    size_t added;
    INVARIANT(!t || t->changes.files || t->changes.file_count == 0);
    c->bad |= !t;
    if (c->bad)
        return;
    r = &t->changes;
    r->on = true;
    r->floor = MAX_OF(r->floor, floor);
    r->floor_us = MAX_OF(r->floor_us, floor_us);
    for (size_t i = 0; i < removed && !c->bad; i++)
        remove_change_file(r, cursor_varint(c), c);
    added = cursor_count(c, FILE_ENCODED_MIN);
    if (c->bad || added == 0)
        return;
    r->files =
        mem_realloc(r->files, (r->file_count + added) * sizeof(*r->files));
    for (size_t i = 0; i < added && !c->bad; i++)
        read_change_file(s, c, r);
}

static void apply_drop_changes(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    c->bad |= !t;
    if (!c->bad)
        changes_record_close(&t->changes);
}

static void apply_drop_tablet(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    if (c->bad || !t) {
        c->bad = true;
        return;
    }
    INVARIANT((size_t)(t - s->tablets) < s->tablet_count);
    remove_tablet(s, (size_t)(t - s->tablets));
}

static void
remove_file(struct manifest_group *g, uint64_t number, struct cursor *c)
{
    for (size_t i = 0; i < g->file_count; i++) {
        if (g->files[i].number != number)
            continue;
        file_close(&g->files[i]);
        INVARIANT(g->file_count > i);
        g->file_count--;
        memmove(&g->files[i], &g->files[i + 1],
                (g->file_count - i) * sizeof(*g->files));
        return;
    }
    c->bad = true;
}

/* The group @id of @t, made if it is not there; NULL: @t has as many as it may.
 */
static struct manifest_group *need_group(struct manifest_tablet *t, uint32_t id)
{
    struct manifest_group *g = manifest_tablet_group(t, id);
    if (g || t->group_count == GROUP_COUNT_MAX)
        return g;
    t->groups =
        mem_realloc(t->groups, (t->group_count + 1) * sizeof(*t->groups));
    g = &t->groups[t->group_count++];
    *g = (struct manifest_group){.id = id};
    POST(t->group_count <= GROUP_COUNT_MAX);
    return g;
}

static void apply_change_group(struct manifest_state *s, struct cursor *c)
{
    struct manifest_tablet *t = manifest_state_tablet(s, cursor_varint(c));
    uint64_t id = cursor_varint(c);
    uint64_t flushed = cursor_varint(c);
    struct manifest_group *g = NULL;
    size_t removed;
    if (!c->bad && t && id <= UINT32_MAX)
        g = need_group(t, (uint32_t)id);
    if (!g) {
        c->bad = true;
        return;
    }
    removed = cursor_count(c, 1);
    for (size_t i = 0; i < removed && !c->bad; i++)
        remove_file(g, cursor_varint(c), c);
    read_files(s, c, g);
    if (flushed > g->flushed_sequence)
        g->flushed_sequence = flushed;
    if (flushed > s->sequence)
        s->sequence = flushed;
    POST(s->sequence >= g->flushed_sequence); /* INV-3 */
}

static void apply_counters(struct manifest_state *s, struct cursor *c)
{
    uint64_t number = cursor_varint(c);
    uint64_t table = cursor_varint(c);
    uint64_t tablet = cursor_varint(c);
    uint64_t sequence = cursor_varint(c);
    s->next_number = MAX_OF(s->next_number, number);
    s->next_table = MAX_OF(s->next_table, table);
    s->next_tablet = MAX_OF(s->next_tablet, tablet);
    s->sequence = MAX_OF(s->sequence, sequence);
    POST(s->sequence >= sequence);  /* INV-3 */
    POST(s->next_number >= number); /* INV-2 */
    POST(s->next_table >= table);   /* INV-2 */
    POST(s->next_tablet >= tablet); /* INV-2 */
}

static void
apply_put_log(struct manifest_state *s, struct cursor *c, bool has_bytes)
{
    struct log_named_segment *n;
    s->log_position = cursor_varint(c);
    s->log_segment_count = cursor_count(c, has_bytes ? 2 : 1);
    n = s->log_segments =
        mem_realloc(s->log_segments, (s->log_segment_count + 1) * sizeof(*n));
    for (size_t i = 0; i < s->log_segment_count; i++) {
        n[i].number = cursor_varint(c);
        n[i].bytes = has_bytes ? cursor_varint(c) : 0;
        c->bad |= i > 0 && n[i].number <= n[i - 1].number;
    }
}

/* Index of snapshot @name; the count when it is not there. */
static size_t find_snapshot(const struct manifest_state *s, struct slice name)
{
    size_t i = 0;
    while (i < s->snapshot_count && !slice_eq_str(name, s->snapshots[i]))
        i++;
    POST(i <= s->snapshot_count);
    return i;
}

static void apply_put_snapshot(struct manifest_state *s, struct cursor *c)
{
    struct slice name = cursor_lslice(c);
    c->bad |= name.len == 0 || name.len > TABLE_NAME_BYTES_MAX;
    if (c->bad || find_snapshot(s, name) < s->snapshot_count)
        return;
    s->snapshots = mem_realloc(s->snapshots,
                               (s->snapshot_count + 1) * sizeof(*s->snapshots));
    s->snapshots[s->snapshot_count++] = mem_strndup(name.data, name.len);
    POST(s->snapshot_count > 0);
}

static void apply_drop_snapshot(struct manifest_state *s, struct cursor *c)
{
    size_t i = find_snapshot(s, cursor_lslice(c));
    if (c->bad || i == s->snapshot_count)
        return;
    INVARIANT(i < s->snapshot_count);
    mem_free(s->snapshots[i]);
    s->snapshots[i] = s->snapshots[--s->snapshot_count];
}

int manifest_state_apply(struct manifest_state *s,
                         struct slice edit,
                         struct err *err)
{
    struct cursor c = cursor_make(edit);
    int rc = 0;
    while (rc == 0 && !c.bad && c.p < c.end) {
        enum manifest_op op = (enum manifest_op)cursor_u8(&c);
        switch (op) {
        case OP_COUNTERS: apply_counters(s, &c); break;
        case OP_PUT_TABLE: rc = apply_put_table(s, &c, err); break;
        case OP_DROP_TABLE: apply_drop_table(s, &c); break;
        case OP_PUT_TABLET: apply_put_tablet(s, &c); break;
        case OP_DROP_TABLET: apply_drop_tablet(s, &c); break;
        case OP_CHANGE_GROUP: apply_change_group(s, &c); break;
        case OP_PUT_LOADS: apply_put_loads(s, &c); break;
        case OP_PUT_STAMP: apply_put_stamp(s, &c); break;
        case OP_PUT_DONE: apply_put_done(s, &c); break;
        case OP_PUT_LOG: apply_put_log(s, &c, false); break;
        case OP_PUT_LOG_FILES: apply_put_log(s, &c, true); break;
        case OP_PUT_CHANGES: apply_put_changes(s, &c); break;
        case OP_DROP_CHANGES: apply_drop_changes(s, &c); break;
        case OP_PUT_SNAPSHOT: apply_put_snapshot(s, &c); break;
        case OP_DROP_SNAPSHOT: apply_drop_snapshot(s, &c); break;
        default: c.bad = true;
        }
    }
    if (rc == 0 && c.bad)
        rc = err_set(err, ERR_CORRUPT,
                     "an edit does not fit what came before it");
    manifest_state_check(s);
    POST(rc || c.p == c.end);
    return rc;
}

/* --- looking into edits -------------------------------------------------- */

static void
each_file(struct cursor *c, void (*fn)(void *ctx, uint64_t number), void *ctx)
{
    size_t count = cursor_count(c, FILE_ENCODED_MIN);
    PRE(c->p <= c->end);
    for (size_t i = 0; i < count && !c->bad; i++) {
        uint64_t number = cursor_varint(c);
        for (int field = 0; field < 5; field++)
            cursor_varint(c);
        cursor_lslice(c);
        cursor_lslice(c);
        if (fn)
            fn(ctx, number);
    }
}

static void skip_varints(struct cursor *c, size_t count)
{
    for (size_t i = 0; i < count && !c->bad; i++)
        cursor_varint(c);
    POST(c->p <= c->end);
}

static void each_file_of_tablet(struct cursor *c,
                                void (*fn)(void *ctx, uint64_t number),
                                void *ctx)
{
    size_t groups;
    skip_varints(c, 2);
    cursor_lslice(c);
    cursor_lslice(c);
    groups = cursor_count(c, GROUP_ENCODED_MIN);
    for (size_t i = 0; i < groups && !c->bad; i++) {
        skip_varints(c, 2);
        each_file(c, fn, ctx);
    }
}

/* Change files are none that the edit adds to the store. */
static void skip_changes(struct cursor *c)
{
    size_t count;
    skip_varints(c, 3);
    skip_varints(c, cursor_count(c, 1));
    count = cursor_count(c, FILE_ENCODED_MIN);
    for (size_t i = 0; i < count && !c->bad; i++) {
        skip_varints(c, 10);
        cursor_lslice(c);
        cursor_lslice(c);
    }
}

/* Skip what follows @op. Calls @fn, unless NULL, for each file it adds. */
static void skip_op(struct cursor *c,
                    enum manifest_op op,
                    void (*fn)(void *ctx, uint64_t number),
                    void *ctx)
{
    switch (op) {
    case OP_COUNTERS: skip_varints(c, 4); break;
    case OP_PUT_TABLE:
        skip_varints(c, 1);
        cursor_lslice(c);
        cursor_lslice(c);
        break;
    case OP_DROP_TABLE:
    case OP_DROP_CHANGES:
    case OP_DROP_TABLET: skip_varints(c, 1); break;
    case OP_PUT_CHANGES: skip_changes(c); break;
    case OP_PUT_TABLET: each_file_of_tablet(c, fn, ctx); break;
    case OP_CHANGE_GROUP:
        skip_varints(c, 3);
        skip_varints(c, cursor_count(c, 1));
        each_file(c, fn, ctx);
        break;
    case OP_PUT_LOADS:
        skip_varints(c, 1);
        skip_varints(c, cursor_count(c, 1));
        break;
    case OP_PUT_STAMP: skip_varints(c, 2); break;
    case OP_PUT_DONE:
        skip_varints(c, 1);
        cursor_lslice(c);
        break;
    case OP_PUT_LOG:
        skip_varints(c, 1);
        skip_varints(c, cursor_count(c, 1));
        break;
    case OP_PUT_LOG_FILES:
        skip_varints(c, 1);
        skip_varints(c, 2 * cursor_count(c, 2));
        break;
    case OP_PUT_SNAPSHOT:
    case OP_DROP_SNAPSHOT: cursor_lslice(c); break;
    default: c->bad = true; break;
    }
}

void edit_added_files(struct slice edit,
                      void (*fn)(void *ctx, uint64_t number),
                      void *ctx)
{
    struct cursor c = cursor_make(edit);
    PRE(fn);
    while (!c.bad && c.p < c.end)
        skip_op(&c, (enum manifest_op)cursor_u8(&c), fn, ctx);
}

bool edit_keeps_rows(struct slice edit)
{
    struct cursor c = cursor_make(edit);
    while (!c.bad && c.p < c.end) {
        enum manifest_op op = (enum manifest_op)cursor_u8(&c);
        if (op != OP_COUNTERS && op != OP_CHANGE_GROUP && op != OP_PUT_STAMP &&
            op != OP_PUT_DONE && op != OP_PUT_LOG && op != OP_PUT_LOG_FILES &&
            op != OP_PUT_SNAPSHOT && op != OP_DROP_SNAPSHOT &&
            op != OP_PUT_CHANGES && op != OP_DROP_CHANGES)
            return false;
        skip_op(&c, op, NULL, NULL);
    }
    return !c.bad;
}
