/* Source to program: the stages in order, and queries about the result; see
 * sawzall.h.
 *
 * A prelude in the language declares the predeclared tables and types, so they
 * need no code of their own. The fingerprint of the tables (names, types,
 * parameters) decides whether the states of two runs can be merged.
 */
#include "sawzall-lite/program.h"

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "sawzall-lite/checker/dump_tree.h"
#include "sawzall-lite/front/parser.h"
#include "sawzall-lite/generator/compile.h"

/* The text before every program. */
static const char prelude_text[] =
    "output: table collection of bytes file(\"/dev/stdout\");\n"
    "stdout: table collection of s: string file(\"/dev/stdout\")"
    " format(\"%s\\n\", s);\n"
    "stderr: table collection of s: string file(\"/dev/stderr\")"
    " format(\"%s\\n\", s);\n"
    "_undef_cnt: table sum of int;\n"
    "_undef_details: table sum[msg: string] of int;\n"
    "type Cell = { time: time, value: bytes };\n"
    "type Row = { key: bytes, column: map[string] of array of Cell };\n"
    "keep: table collection of Row;\n"
    "type SQL_DB = int;\n"
    "type resourcestats = { initializedavailablemem: int,"
    " initializedallocatedmem: int, initializedusertime: time,"
    " initializedsystemtime: time, availablemem: int, allocatedmem: int,"
    " usertime: time, systemtime: time };\n";

static struct saw_function *
program_parse(struct arena *a,
              const struct saw_compile_options *opts,
              const char *name,
              struct slice text,
              struct saw_diag *d)
{
    struct saw_tokens tokens;
    struct saw_function *f;

    saw_lex(a, opts, name, text, d, &tokens);
    f = saw_parse(a, &tokens, d);
    mem_free(tokens.at);
    return f;
}

/* Two runs merge if their tables are the same: names, types, parameters. */
static uint64_t program_fingerprint(const struct saw_program *p)
{
    struct buf b = BUF_INIT;
    uint64_t h;
    uint32_t i;

    for (i = 0; i < p->pool.table_count; i++) {
        const struct saw_table_site *t = &p->pool.tables[i];
        struct saw_type type = {.kind = SAW_TABLE, .table = t->type};
        buf_printf(&b, "%.*s: ", SLICE_ARG(t->name));
        saw_type_print_as(&type, SAW_TYPE_FULL, &b);
        buf_append_byte(&b, '\n');
    }
    h = hash64(buf_slice(&b).data, b.len, 0);
    buf_close(&b);
    return h;
}

static void program_summary(struct saw_diag *d)
{
    if (d->error_count > d->errors_max)
        buf_printf(d->out, "(%u more errors)\n",
                   d->error_count - d->errors_max);
}

int saw_compile(const struct saw_compile_options *opts,
                struct slice source,
                const char *name,
                struct saw_program **out,
                struct buf *diagnostics)
{
    struct saw_program *p = mem_zalloc(1, sizeof(*p));
    struct saw_diag d = {.out = diagnostics,
                         .errors_max = opts->errors_max ? opts->errors_max
                                                        : SAW_ERRORS_DEFAULT};
    struct saw_function *prelude;
    struct saw_function *main;
    bool ok;

    *out = NULL;
    arena_init(&p->arena);
    p->ignore_undefs = opts->ignore_undefs;
    p->defer_tables = opts->defer_tables;
    p->restricted = opts->restricted;
    if (source.len > SAW_SOURCE_BYTES_MAX) {
        buf_printf(diagnostics, "%s: error: the program is too long\n", name);
        saw_program_free(p);
        return ERR_INVALID;
    }
    prelude =
        program_parse(&p->arena, opts, "prelude", slice_str(prelude_text), &d);
    main = program_parse(&p->arena, opts, name, source, &d);
    ok = saw_check(&p->arena, opts, prelude, main, &d, &p->unit) &&
         saw_compile_unit(&p->arena, &p->unit, opts, &d, &p->pool);
    program_summary(&d);
    INVARIANT(ok || d.error_count > 0); /* A refusal has a reason. */
    if (!ok || d.error_count > 0) {
        saw_program_free(p);
        return ERR_INVALID;
    }
    p->fingerprint = program_fingerprint(p);
    p->source = arena_dup(&p->arena, source);
    *out = p;
    return 0;
}

struct slice saw_program_source(const struct saw_program *p,
                                struct saw_compile_options *opts)
{
    *opts = (struct saw_compile_options){.restricted = p->restricted,
                                         .ignore_undefs = p->ignore_undefs,
                                         .defer_tables = p->defer_tables};
    return p->source;
}

int saw_type_of(const struct saw_compile_options *opts,
                struct slice source,
                const char *name,
                struct buf *out,
                struct buf *diagnostics)
{
    struct saw_program *p = mem_zalloc(1, sizeof(*p));
    struct saw_diag d = {.out = diagnostics, .errors_max = SAW_ERRORS_DEFAULT};
    struct saw_function *prelude;
    struct saw_function *main;
    const struct saw_stmts *body;
    int rc = ERR_INVALID;

    PRE(source.len <= SAW_SOURCE_BYTES_MAX);
    arena_init(&p->arena);
    prelude =
        program_parse(&p->arena, opts, "prelude", slice_str(prelude_text), &d);
    main = program_parse(&p->arena, opts, name, source, &d);
    body = &main->body->u.block;
    if (saw_check(&p->arena, opts, prelude, main, &d, &p->unit) &&
        d.error_count == 0 && body->count > 0 &&
        body->at[body->count - 1]->kind == STMT_EXPR) {
        saw_type_print(body->at[body->count - 1]->u.expr->type, out);
        rc = 0;
    }
    saw_program_free(p);
    return rc;
}

void saw_program_free(struct saw_program *p)
{
    if (!p)
        return;
    saw_unit_close(&p->unit);
    arena_close(&p->arena);
    mem_free(p);
}

bool saw_program_wants_rows(const struct saw_program *p)
{
    return p->unit.wants_rows;
}

bool saw_program_keeps_rows(const struct saw_program *p)
{
    return p->unit.keep->used && p->unit.keep->table >= 0;
}

bool saw_program_reads_key(const struct saw_program *p)
{
    return p->unit.reads_key;
}

/* Whether it calls an intrinsic with @flag. */
bool saw_program__calls(const struct saw_program *p, unsigned flag)
{
    uint32_t i;

    for (i = 0; i < p->pool.site_count; i++) {
        const struct saw_builtin *b = p->pool.sites[i]->builtin;
        if (b && (b->flags & flag))
            return true;
    }
    return false;
}

bool saw_program_is_stateful(const struct saw_program *p)
{
    return saw_program__calls(p, SAW_BUILTIN_STATEFUL);
}

bool saw_program_is_repeatable(const struct saw_program *p)
{
    return !saw_program__calls(p, SAW_BUILTIN_MOMENT | SAW_BUILTIN_STATEFUL |
                                      SAW_BUILTIN_OUTSIDE);
}

size_t saw_program_columns(const struct saw_program *p,
                           const struct slice **columns,
                           bool *all)
{
    *all = p->unit.all_columns;
    *columns = p->unit.columns;
    return p->unit.all_columns ? 0 : p->unit.column_count;
}

void saw_program_dump(const struct saw_program *p, struct buf *out)
{
    buf_append_str(out, "tree\n");
    saw_program_dump_tree(p, out);
    buf_append_str(out, "code\n");
    saw_program_dump_code(p, out);
}

void saw_program_dump_tree(const struct saw_program *p, struct buf *out)
{
    saw_tree_dump(&p->unit, out);
}

void saw_program_dump_code(const struct saw_program *p, struct buf *out)
{
    saw_code_dump(&p->pool, out);
}
