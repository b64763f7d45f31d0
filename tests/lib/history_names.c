/* A directory as an object: up to eight entries of 32 bits each.
 *
 * An entry is 0 (nothing there) or (id + 1) * 2 + is_directory, with id 0 while
 * no answer has told the number of what lies there.
 */
#include "tests/lib/history_names.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

#define UNKNOWN UINT64_MAX /* When a call returned. */
#define NO_SLOT UINT64_MAX

struct directory {
    char *path; /* Owned, as are the names. */
    char *names[HISTORY_NAMES_MAX];
    size_t count;
};

struct names_op {
    uint64_t client;
    uint64_t called;
    uint64_t returned;
    enum names_kind kind;
    size_t directory;
    uint64_t slot; /* Of the path; */
    uint64_t to;   /* and of the other. */
    int rc;
    uint64_t answer; /* An entry, or a set of slots. */
    bool failed;
};

struct history_names {
    struct directory *directories;
    size_t directory_count;
    struct names_op *ops;
    size_t count;
    size_t cap;
};

static const char *const kind_names[] = {

#define X(name, text) text,
    HISTORY_NAMES_KINDS(X)
#undef X
};

struct history_names *history_names_new(void)
{
    return mem_zalloc(1, sizeof(struct history_names));
}

void history_names_free(struct history_names *h)
{
    for (size_t i = 0; i < h->directory_count; i++) {
        mem_free(h->directories[i].path);
        for (size_t j = 0; j < h->directories[i].count; j++)
            mem_free(h->directories[i].names[j]);
    }
    mem_free(h->directories);
    mem_free(h->ops);
    mem_free(h);
}

size_t history_names_count(const struct history_names *h)
{
    return h->count;
}

/* --- names --------------------------------------------------------------- */

static size_t find_directory(struct history_names *h, struct slice path)
{
    for (size_t i = 0; i < h->directory_count; i++)
        if (slice_eq_str(path, h->directories[i].path))
            return i;
    h->directories = mem_realloc(h->directories, (h->directory_count + 1) *
                                                     sizeof(*h->directories));
    h->directories[h->directory_count] =
        (struct directory){.path = mem_strndup(path.data, path.len)};
    return h->directory_count++;
}

static uint64_t find_slot(struct directory *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->names[i], name) == 0)
            return i;
    PRE(d->count < HISTORY_NAMES_MAX);
    d->names[d->count] = mem_strdup(name);
    return d->count++;
}

/* Where @path's last name begins. */
static size_t last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static size_t directory_of(struct history_names *h, const char *path)
{
    size_t end = last_name(path);
    return find_directory(h, slice_make(path, end ? end - 1 : 0));
}

/* --- recording ----------------------------------------------------------- */

size_t history_names_call(struct history_names *h,
                          uint64_t now,
                          uint64_t client,
                          enum names_kind kind,
                          const char *path,
                          const char *to)
{
    struct names_op op = {.client = client,
                          .called = now,
                          .returned = UNKNOWN,
                          .kind = kind,
                          .slot = NO_SLOT,
                          .to = NO_SLOT};
    if (kind == NAMES_LIST) {
        op.directory = find_directory(h, slice_str(path));
    } else {
        op.directory = directory_of(h, path);
        op.slot =
            find_slot(&h->directories[op.directory], path + last_name(path));
    }
    if (to) {
        PRE(directory_of(h, to) == op.directory);
        op.to = find_slot(&h->directories[op.directory], to + last_name(to));
    }
    if (h->count == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->ops = mem_realloc(h->ops, h->cap * sizeof(*h->ops));
    }
    h->ops[h->count] = op;
    return h->count++;
}

static uint64_t entry_of(bool is_directory, uint64_t id)
{
    return (id + 1) << 1 | is_directory;
}

static bool changes_nothing(enum names_kind kind)
{
    return kind == NAMES_STAT || kind == NAMES_LIST;
}

void history_names_return(struct history_names *h,
                          size_t op,
                          uint64_t now,
                          int rc,
                          const struct names_answer *answer)
{
    struct names_op *o = &h->ops[op];
    bool known =
        rc == 0 || rc == ERR_NOTFOUND || rc == ERR_EXISTS || rc == ERR_INVALID;
    PRE(o->returned == UNKNOWN && !o->failed);
    if (!known) {
        o->failed = changes_nothing(o->kind) || rc == ERR_BUSY ||
                    rc == ERR_EXHAUSTED || rc == ERR_DENIED;
        return;
    }
    o->returned = now;
    o->rc = rc;
    if (rc == 0 && o->kind == NAMES_STAT)
        o->answer = entry_of(answer->is_directory, answer->id);
    for (size_t i = 0;
         rc == 0 && o->kind == NAMES_LIST && i < answer->list_count; i++)
        o->answer |= UINT64_C(1) << find_slot(&h->directories[o->directory],
                                              answer->list[i]);
}

/* --- the model ----------------------------------------------------------- */

static uint32_t get(const struct history_state *s, uint64_t slot)
{
    return (uint32_t)(s->v[slot / 2] >> (slot % 2 * 32));
}

static void set(struct history_state *s, uint64_t slot, uint32_t entry)
{
    unsigned shift = slot % 2 * 32;
    s->v[slot / 2] = (s->v[slot / 2] & ~(UINT64_C(0xffffffff) << shift)) |
                     (uint64_t)entry << shift;
}

enum {
    NEW_FILE = 2,
    NEW_DIRECTORY = 3
};

static bool is_directory(uint32_t entry)
{
    return entry & 1;
}

static int do_create(struct history_state *s, uint64_t slot, bool exclusive)
{
    uint32_t old = get(s, slot);
    if (old && exclusive)
        return ERR_EXISTS;
    if (old && is_directory(old))
        return ERR_INVALID;
    set(s, slot, NEW_FILE);
    return 0;
}

static int do_mkdir(struct history_state *s, uint64_t slot)
{
    uint32_t old = get(s, slot);
    if (old)
        return is_directory(old) ? 0 : ERR_INVALID;
    set(s, slot, NEW_DIRECTORY);
    return 0;
}

static int do_remove(struct history_state *s, uint64_t slot, bool tree)
{
    uint32_t old = get(s, slot);
    if (!old)
        return ERR_NOTFOUND;
    if (is_directory(old) && !tree)
        return ERR_INVALID;
    set(s, slot, 0);
    return 0;
}

static int do_rename(struct history_state *s, uint64_t from, uint64_t to)
{
    uint32_t what = get(s, from);
    uint32_t old = get(s, to);
    if (!what)
        return ERR_NOTFOUND;
    if (from == to)
        return 0;
    if (old && is_directory(old) != is_directory(what))
        return ERR_INVALID;
    set(s, from, 0);
    set(s, to, what);
    return 0;
}

static int do_snapshot(struct history_state *s, uint64_t from, uint64_t to)
{
    if (!get(s, from))
        return ERR_NOTFOUND;
    if (get(s, to))
        return ERR_EXISTS;
    set(s, to, is_directory(get(s, from)) ? NEW_DIRECTORY : NEW_FILE);
    return 0;
}

static bool
is_elsewhere(const struct history_state *s, uint64_t slot, uint32_t entry)
{
    for (uint64_t i = 0; i < HISTORY_NAMES_MAX; i++)
        if (i != slot && get(s, i) == entry)
            return true;
    return false;
}

/* Can what is at @slot be @seen? If that is news, it is noted. */
static bool learn_entry(struct history_state *s, uint64_t slot, uint32_t seen)
{
    uint32_t entry = get(s, slot);
    bool names_id = seen > NEW_DIRECTORY;
    if (is_directory(entry) != is_directory(seen))
        return false;
    if (!names_id || entry == seen)
        return true;
    if (entry > NEW_DIRECTORY || is_elsewhere(s, slot, seen))
        return false;
    set(s, slot, seen);
    return true;
}

static bool list_is(const struct history_state *s, uint64_t names)
{
    for (uint64_t i = 0; i < HISTORY_NAMES_MAX; i++)
        if ((get(s, i) != 0) != (names >> i & 1))
            return false;
    return true;
}

static int execute(struct history_state *s, const struct history_value *input)
{
    switch ((enum names_kind)input->kind) {
    case NAMES_CREATE: return do_create(s, input->a, false);
    case NAMES_CREATE_NEW: return do_create(s, input->a, true);
    case NAMES_MKDIR: return do_mkdir(s, input->a);
    case NAMES_REMOVE: return do_remove(s, input->a, false);
    case NAMES_REMOVE_TREE: return do_remove(s, input->a, true);
    case NAMES_RENAME: return do_rename(s, input->a, input->b);
    case NAMES_SNAPSHOT: return do_snapshot(s, input->a, input->b);
    case NAMES_STAT: return get(s, input->a) ? 0 : ERR_NOTFOUND;
    case NAMES_LIST:
    case NAMES_KIND_COUNT: break;
    }
    return 0;
}

static bool names_step(struct history_state *s,
                       const struct history_value *input,
                       const struct history_value *output)
{
    int rc = execute(s, input);
    if (!output)
        return true;
    /* The directory itself comes with its first entry. */
    if (input->kind == NAMES_LIST && -(int)output->kind == ERR_NOTFOUND)
        return list_is(s, 0);
    if (rc != -(int)output->kind)
        return false;
    if (rc == 0 && input->kind == NAMES_STAT)
        return learn_entry(s, input->a, (uint32_t)output->a);
    return input->kind != NAMES_LIST || list_is(s, output->a);
}

static void names_print(const struct history_value *input,
                        const struct history_value *output,
                        struct buf *out)
{
    buf_append_str(out, kind_names[input->kind]);
    if (input->a != NO_SLOT)
        buf_printf(out, " %" PRIu64, input->a);
    if (input->b != NO_SLOT)
        buf_printf(out, " %" PRIu64, input->b);
    if (!output)
        return;
    buf_printf(out, " -> %s",
               output->kind ? err_name(-(int)output->kind) : "ok");
    if (output->kind == 0 && input->kind == NAMES_STAT)
        buf_printf(out, " %s %" PRIu64, output->a & 1 ? "directory" : "file",
                   (output->a >> 1) - 1);
    if (output->kind == 0 && input->kind == NAMES_LIST)
        for (unsigned i = 0; i < HISTORY_NAMES_MAX; i++)
            if (output->a >> i & 1)
                buf_printf(out, " %u", i);
}

/* --- judging ------------------------------------------------------------- */

static const struct history_model names_model = {.step = names_step,
                                                 .print = names_print};

static void print_directory(const struct directory *d, struct buf *why)
{
    buf_printf(why, "directory \"%s\":", d->path);
    for (size_t i = 0; i < d->count; i++)
        buf_printf(why, " %zu is \"%s\"", i, d->names[i]);
    buf_append_byte(why, '\n');
}

static enum history_verdict check_directory(const struct history_names *h,
                                            size_t directory,
                                            size_t budget,
                                            struct buf *why)
{
    struct history *all = history_new();
    enum history_verdict v;
    for (size_t i = 0; i < h->count; i++) {
        const struct names_op *o = &h->ops[i];
        struct history_value input = {
            .kind = (uint32_t)o->kind, .a = o->slot, .b = o->to};
        struct history_value output = {.kind = (uint32_t)-o->rc,
                                       .a = o->answer};
        size_t op;
        if (o->failed || o->directory != directory)
            continue;
        op = history_call(all, o->called, o->client, directory, &input);
        if (o->returned != UNKNOWN)
            history_return(all, op, o->returned, &output);
    }
    v = history_check(all, &names_model, budget, why);
    if (v == HISTORY_WRONG)
        print_directory(&h->directories[directory], why);
    history_free(all);
    return v;
}

enum history_verdict history_names_check(const struct history_names *h,
                                         size_t budget,
                                         struct buf *why)
{
    enum history_verdict verdict = HISTORY_LINEARIZABLE;
    for (size_t i = 0; i < h->directory_count; i++) {
        enum history_verdict v = check_directory(h, i, budget, why);
        if (v == HISTORY_WRONG)
            return v;
        if (v != HISTORY_LINEARIZABLE)
            verdict = v;
    }
    return verdict;
}

/* --- as text ------------------------------------------------------------- */

static void
print_path(const struct directory *d, uint64_t slot, struct buf *out)
{
    if (slot == NO_SLOT)
        buf_append_byte(out, '-');
    else if (d->path[0])
        buf_printf(out, "%s/%s", d->path, d->names[slot]);
    else
        buf_append_str(out, d->names[slot]);
}

static void print_answer(const struct directory *d,
                         const struct names_op *o,
                         struct buf *out)
{
    const char *comma = "";
    if (o->returned == UNKNOWN || o->rc || !changes_nothing(o->kind)) {
        buf_append_byte(out, '-');
    } else if (o->kind == NAMES_STAT) {
        buf_printf(out, "%s %" PRIu64, o->answer & 1 ? "directory" : "file",
                   (o->answer >> 1) - 1);
    } else {
        for (size_t i = 0; i < d->count; i++)
            if (o->answer >> i & 1) {
                buf_printf(out, "%s%s", comma, d->names[i]);
                comma = ",";
            }
    }
}

void history_names_print(const struct history_names *h,
                         size_t op,
                         struct buf *out)
{
    const struct names_op *o = &h->ops[op];
    const struct directory *d = &h->directories[o->directory];
    if (o->failed)
        return;
    buf_printf(out, "names\t%" PRIu64 "\t", o->called);
    if (o->returned == UNKNOWN)
        buf_append_byte(out, '?');
    else
        buf_printf(out, "%" PRIu64, o->returned);
    buf_printf(out, "\t%" PRIu64 "\t%s\t", o->client, kind_names[o->kind]);
    if (o->kind == NAMES_LIST)
        buf_append_str(out, d->path);
    else
        print_path(d, o->slot, out);
    buf_append_byte(out, '\t');
    print_path(d, o->to, out);
    if (o->returned == UNKNOWN)
        buf_append_str(out, "\t?\t");
    else
        buf_printf(out, "\t%d\t", o->rc);
    print_answer(d, o, out);
    buf_append_byte(out, '\n');
}

enum {
    FIELDS = 9
};

static int bad_line(struct slice line, struct err *err)
{
    return err_set(err, ERR_INVALID, "\"%.*s\" is no call of a name",
                   SLICE_ARG(line));
}

static bool parse_kind(struct slice s, enum names_kind *out)
{
    for (size_t i = 0; i < NAMES_KIND_COUNT; i++)
        if (slice_eq_str(s, kind_names[i])) {
            *out = (enum names_kind)i;
            return true;
        }
    return false;
}

/* The names of a list, borrowed from @text, which is cut up. */
static size_t cut_list(char *text, const char *names[HISTORY_NAMES_MAX])
{
    size_t count = 0;
    char *at = text;
    while (at && *at && count < HISTORY_NAMES_MAX) {
        char *comma = strchr(at, ',');
        names[count++] = at;
        if (comma)
            *comma++ = '\0';
        at = comma;
    }
    return count;
}

static int read_answer(struct history_names *h,
                       size_t op,
                       uint64_t returned,
                       int rc,
                       char *text,
                       struct err *err)
{
    const char *names[HISTORY_NAMES_MAX];
    struct names_answer a = {.list = names};
    char *space = strchr(text, ' ');
    if (rc == 0 && h->ops[op].kind == NAMES_STAT) {
        a.is_directory = text[0] == 'd';
        if (!space || text_parse_u64(slice_str(space + 1), &a.id, err))
            return bad_line(slice_str(text), err);
    } else if (rc == 0 && h->ops[op].kind == NAMES_LIST) {
        a.list_count = cut_list(text, names);
    }
    history_names_return(h, op, returned, rc, &a);
    return 0;
}

/* @field: the parts of @line, each a text of its own. */
static int read_fields(struct history_names *h,
                       struct slice line,
                       char *field[FIELDS],
                       struct err *err)
{
    uint64_t called;
    uint64_t returned;
    uint64_t client;
    int64_t rc;
    enum names_kind kind;
    size_t op;
    if (strcmp(field[0], "names") != 0 ||
        text_parse_u64(slice_str(field[1]), &called, NULL) ||
        text_parse_u64(slice_str(field[3]), &client, NULL) ||
        !parse_kind(slice_str(field[4]), &kind))
        return bad_line(line, err);
    op = history_names_call(h, called, client, kind, field[5],
                            strcmp(field[6], "-") == 0 ? NULL : field[6]);
    if (strcmp(field[2], "?") == 0)
        return 0;
    if (text_parse_u64(slice_str(field[2]), &returned, NULL) ||
        text_parse_i64(slice_str(field[7]), &rc, NULL))
        return bad_line(line, err);
    return read_answer(h, op, returned, (int)rc, field[8], err);
}

int history_names_read(struct history_names *h,
                       struct slice line,
                       struct err *err)
{
    char *copy = mem_strndup(line.data, line.len);
    char *field[FIELDS] = {copy};
    size_t count = 1;
    int rc;
    for (char *p = copy; *p && count < FIELDS; p++)
        if (*p == '\t') {
            *p = '\0';
            field[count++] = p + 1;
        }
    rc = count == FIELDS ? read_fields(h, line, field, err)
                         : bad_line(line, err);
    mem_free(copy);
    return rc;
}
