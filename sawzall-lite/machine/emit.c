/* emit: aggregate a value, print it, write it to a file, or keep a row.
 *
 * The route of a table is fixed when the run begins (run.c). Values become
 * data (values/datum.h) here, so tables never see slots; counts of undefined
 * values are emitted to the predeclared tables in the same way.
 */
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "sawzall-lite/machine/run.h"
#include "sawzall-lite/values/datum.h"
#include "sawzall-lite/values/value_text.h"

int saw_run_write(struct saw_run *r,
                  const char *path,
                  struct slice text,
                  struct err *err)
{
    if (r->opts.write)
        return r->opts.write(r->opts.write_ctx, path, text, err);
    if (strcmp(path, "/dev/stderr") != 0)
        buf_append_slice(&r->output, text);
    return 0;
}

int saw_run_print_text(struct saw_run *r, struct slice text, struct err *err)
{
    return saw_run_write(r, "/dev/stdout", text, err);
}

struct saw_table *saw_run_table(struct saw_run *r, uint32_t index)
{
    struct saw_run_table *t = &r->tables[index];

    PRE(index < r->program->pool.table_count);
    if (!t->table &&
        (t->route == SAW_ROUTE_TABLE || t->route == SAW_ROUTE_LINE))
        t->table = saw_table_new(&t->decl, &r->budget);
    return t->table;
}

/* Texts and ints, which most values are, without a walk over the type. */
static inline void
emit_encode(const struct saw_type *t, union saw_slot v, struct buf *out)
{
    if (t->kind == SAW_STRING)
        saw_datum_put_text(out, SAW_DATUM_STRING, saw_str_slice(v.s));
    else if (t->kind == SAW_INT)
        saw_datum_put_int(out, v.i);
    else
        saw_value_encode(t, v, out);
}

static void encode_element(struct saw_run *r,
                           const struct saw_emit_site *site,
                           const struct saw_table_type *type,
                           const union saw_slot *args)
{
    size_t n = type->index_count;

    buf_clear(&r->element);
    if (site->formatted)
        emit_encode(&saw_type_string, args[n + 1 + site->weighted],
                    &r->element);
    else
        emit_encode(type->element.type, args[n], &r->element);
}

static int to_table(struct saw_run *r,
                    const struct saw_emit_site *site,
                    const union saw_slot *args,
                    struct err *err)
{
    struct saw_run_table *t = &r->tables[site->table];
    const struct saw_table_type *type = t->site->type;
    struct saw_table *table =
        LIKELY(t->table != NULL) ? t->table : saw_run_table(r, site->table);
    saw_emit_origin origin = r->origin++;
    size_t n = type->index_count;
    size_t i;

    INVARIANT(table); /* INV-1 */
    INVARIANT(site->weighted == (type->weight.type != NULL));
    buf_clear(&r->key);
    for (i = 0; i < n; i++)
        emit_encode(type->indices[i].type, args[i], &r->key);
    if (t->entrance == SAW_ENTRANCE_INT && !site->formatted)
        return saw_table_emit_int(table, buf_slice(&r->key), args[n].i, err);
    encode_element(r, site, type, args);
    if (t->entrance == SAW_ENTRANCE_WEIGHT)
        return saw_table_emit_weight(table, buf_slice(&r->key),
                                     buf_slice(&r->element), args[n + 1].i,
                                     err);
    buf_clear(&r->weight);
    if (site->weighted)
        emit_encode(type->weight.type, args[n + 1], &r->weight);
    return saw_table_emit(table, buf_slice(&r->key), buf_slice(&r->element),
                          buf_slice(&r->weight), origin, err);
}

/* Print `t[a, 3] = 5`, as a table with this one value would, before other
 * results and in the order of the emits. */
static int as_line(struct saw_run *r,
                   const struct saw_emit_site *site,
                   const union saw_slot *args,
                   struct err *err)
{
    struct saw_table *table = saw_run_table(r, site->table);
    int rc = to_table(r, site, args, err);

    saw_table_print(table, &r->output);
    saw_table_clear(table);
    return rc;
}

/* emit t["a"][3] <- 5 weight 2; */
static int as_source(struct saw_run *r,
                     const struct saw_emit_site *site,
                     const union saw_slot *args,
                     struct err *err)
{
    struct saw_run_table *t = &r->tables[site->table];
    const struct saw_table_type *type = t->site->type;
    size_t n = type->index_count;
    struct buf *b = &r->text;
    size_t i;

    buf_clear(b);
    buf_printf(b, "emit %s", t->name);
    for (i = 0; i < n; i++) {
        buf_append_byte(b, '[');
        saw_value_print(type->indices[i].type, args[i], SAW_PRINT_SOURCE, b);
        buf_append_byte(b, ']');
    }
    buf_append_str(b, " <- ");
    if (site->formatted)
        saw_value_print(&saw_type_string, args[n + 1 + site->weighted],
                        SAW_PRINT_SOURCE, b);
    else
        saw_value_print(type->element.type, args[n], SAW_PRINT_SOURCE, b);
    if (site->weighted) {
        buf_append_str(b, " weight ");
        saw_value_print(type->weight.type, args[n + 1], SAW_PRINT_SOURCE, b);
    }
    buf_append_str(b, ";\n");
    return saw_run_write(r, "/dev/stdout", buf_slice(b), err);
}

static int to_file(struct saw_run *r,
                   const struct saw_emit_site *site,
                   const union saw_slot *args,
                   struct err *err)
{
    const struct saw_table_type *type = r->tables[site->table].site->type;
    size_t at = type->index_count + 1 + site->weighted;
    const struct saw_str *text =
        site->formatted ? args[at].s : args[type->index_count].s;
    const struct saw_str *path = args[at + site->formatted].s;

    PRE(site->to_file && type->to_file);
    buf_clear(&r->text);
    buf_append(&r->text, path->data, path->len);
    if (!type->to_proc)
        return saw_run_write(r, buf_cstr(&r->text), saw_str_slice(text), err);
    if (!r->opts.pipe)
        return err_set(err, ERR_DENIED, "proc(…) cannot run commands here");
    return r->opts.pipe(r->opts.write_ctx, buf_cstr(&r->text),
                        saw_str_slice(text), err);
}

/* --- keep ---------------------------------------------------------------- */

/* Split "family:qualifier". */
static void split_column(struct slice name, struct saw_cell *c)
{
    size_t colon = slice_find_byte(name, ':');

    c->family = slice_sub(name, 0, colon);
    c->qualifier = slice_sub(name, colon + 1, name.len);
}

/* Hand over a row that the program made or changed. */
static int
keep_value(struct saw_run *r, const struct saw_tuple *row, struct err *err)
{
    const struct saw_map *m = row->fields[1].m;
    struct saw_row out = {.key = saw_str_slice(row->fields[0].s)};
    struct saw_cell *cells;
    size_t count = 0;
    uint32_t i;
    size_t k;
    int rc;

    for (i = 0; i < m->count; i++)
        count += m->entries[i].value.a->len;
    cells = mem_zalloc(count + 1, sizeof(*cells));
    for (i = 0; i < m->count; i++) {
        const struct saw_array *a = m->entries[i].value.a;
        for (k = 0; k < a->len; k++) {
            struct saw_cell *c = &cells[out.cell_count++];
            split_column(saw_str_slice(m->entries[i].key.s), c);
            c->timestamp_us = a->items[k].t->fields[0].i;
            c->value = saw_str_slice(a->items[k].t->fields[1].s);
        }
    }
    out.cells = cells;
    rc = r->opts.keep(r->opts.keep_ctx, &out, err);
    mem_free(cells);
    return rc;
}

static int
emit_keep(struct saw_run *r, const union saw_slot *args, struct err *err)
{
    const struct saw_tuple *row = args[0].t;

    PRE(r->opts.keep);
    if (r->vm.row && row == r->row_value.t)
        return r->opts.keep(r->opts.keep_ctx, r->vm.row, err);
    return keep_value(r, row, err);
}

/* Emit to a table that is a parameter: its type is that of the table. */
static int emit_given(struct saw_run *r,
                      const struct saw_emit_site *site,
                      const union saw_slot *args,
                      struct err *err)
{
    struct saw_emit_site fixed = *site;

    fixed.table = saw_emit_table(site, args);
    PRE(fixed.table < r->program->pool.table_count);
    return saw_run_emit(r, &fixed, args, err);
}

int saw_run_emit(struct saw_run *r,
                 const struct saw_emit_site *site,
                 const union saw_slot *args,
                 struct err *err)
{
    if (site->table == SAW_EMIT_TABLE_GIVEN)
        return emit_given(r, site, args, err);
    switch (r->tables[site->table].route) {
    case SAW_ROUTE_TABLE: return to_table(r, site, args, err);
    case SAW_ROUTE_PRINT: return as_source(r, site, args, err);
    case SAW_ROUTE_LINE: return as_line(r, site, args, err);
    case SAW_ROUTE_FILE: return to_file(r, site, args, err);
    case SAW_ROUTE_KEEP: return emit_keep(r, args, err);
    }
    return 0;
}

/* --- undefined values ---------------------------------------------------- */

static void emit_one(struct saw_run *r,
                     const struct saw_decl *d,
                     const struct saw_str *index)
{
    struct saw_emit_site site = {.table = (uint32_t)d->table};
    union saw_slot args[2];
    struct err ignored;

    args[0].s = index;
    args[index ? 1 : 0].i = 1;
    if (saw_run_emit(r, &site, args, &ignored) != 0)
        return; /* Only a full table: the count is short by one. */
}

void saw_run_undefined(struct saw_run *r,
                       const struct saw_handler *h,
                       struct saw_pos pos,
                       const char *why)
{
    const struct saw_unit *u = &r->program->unit;
    struct buf b = BUF_INIT;
    struct saw_str text;

    if (!r->counted_undef)
        emit_one(r, u->undef_count, NULL);
    r->counted_undef = true;
    buf_printf(&b, "%s:%u: ", pos.source ? pos.source->name : "?",
               saw_pos_line(pos));
    if (h && h->about)
        saw_pos_print(h->about->pos, true, &b);
    else if (h && h->expr)
        saw_pos_print(h->expr->pos, false, &b);
    buf_printf(&b, " (%s)", why);
    text = (struct saw_str){b.data, b.len, saw_utf8_count(buf_slice(&b))};
    emit_one(r, u->undef_details, &text);
    buf_close(&b);
}

/* --- what a run does besides --------------------------------------------- */

/* Whether a value emitted there leaves the run at once. */
static bool route_writes(enum saw_route route)
{
    return route != SAW_ROUTE_TABLE && route != SAW_ROUTE_LINE;
}

static bool decl_writes(const struct saw_run *r, const struct saw_decl *d)
{
    return d->table >= 0 && route_writes(r->tables[d->table].route);
}

static bool code_prints(const struct saw_code *code)
{
    uint32_t i;

    for (i = 0; i < code->insn_count; i++) {
        if (code->insns[i].op == SAW_OP_PRINT)
            return true;
    }
    return false;
}

bool saw_run_writes(const struct saw_run *r)
{
    const struct saw_code_pool *pool = &r->program->pool;
    const struct saw_unit *u = &r->program->unit;
    uint32_t i;

    for (i = 0; i < pool->emit_count; i++) {
        uint32_t table = pool->emits[i].table;
        if (table == SAW_EMIT_TABLE_GIVEN ||
            route_writes(r->tables[table].route))
            return true;
    }
    for (i = 0; i < pool->code_count; i++) {
        if (pool->codes[i] && code_prints(pool->codes[i]))
            return true;
    }
    return decl_writes(r, u->undef_count) || decl_writes(r, u->undef_details);
}
