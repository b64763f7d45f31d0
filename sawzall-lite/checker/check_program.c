/* The checker as a whole: scopes, the predeclared names, and the order of the
 * stages; see check_program.h.
 *
 * Intrinsics are declared on first use, so the universe costs nothing for the
 * names that a program does not mention. Constants are folded by running the
 * same intrinsics in a context with little memory and work.
 */
#include "sawzall-lite/checker/check_program.h"

#include <math.h>

#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

/* Memory intrinsics may use while constants are folded. */
#define FOLD_BYTES_MAX ((size_t)16 << 20)
/* And the work they may do; longer computations are left for the run. */
#define FOLD_WORK_MAX 20000000

const char *check_type_text(struct saw_checker *c, const struct saw_type *t)
{
    struct buf b = BUF_INIT;
    const char *text;

    saw_type_print(t, &b);
    text = arena_dup(c->arena, buf_slice(&b)).data;
    buf_close(&b);
    return text;
}

const char *check_expr_text(struct saw_checker *c, const struct saw_expr *e)
{
    struct buf b = BUF_INIT;
    const char *text;

    saw_expr_print(e, &b);
    text = arena_dup(c->arena, buf_slice(&b)).data;
    buf_close(&b);
    return text;
}

/* --- scopes -------------------------------------------------------------- */

void check_open_scope(struct saw_checker *c)
{
    c->scope = saw_scope_new(c->arena, c->scope);
}

static void warn_unused(struct saw_checker *c, const struct saw_decl *d)
{
    if (d->used || c->in_prelude || d->is_param || !d->pos.source ||
        (d->name.len && d->name.data[0] == '_') || d->quant != QUANT_NONE)
        return;
    if (d->kind != DECL_VAR || !d->type || d->type->kind == SAW_BAD)
        return;
    /* A declaration of type Row marks a program that reads rows. */
    if (c->unit->row_type && d->type == c->unit->row_type)
        return;
    /* After an error names can look unused that are not. */
    if (c->diag->error_count > 0)
        return;
    saw_warning(c->diag, d->pos, "%s '%.*s' is never used",
                d->type->kind == SAW_TABLE      ? "table"
                : d->type->kind == SAW_FUNCTION ? "function"
                                                : "variable",
                SLICE_ARG(d->name));
}

void check_close_scope(struct saw_checker *c)
{
    size_t i;

    for (i = 0; i < c->scope->decls.count; i++)
        warn_unused(c, c->scope->decls.at[i]);
    INVARIANT(c->scope != c->universe);
    c->scope = c->scope->outer;
}

static struct saw_decl *check_predeclare(struct saw_checker *c,
                                         enum saw_decl_kind kind,
                                         struct slice name,
                                         const struct saw_type *type)
{
    struct saw_decl *d = arena_zalloc(c->arena, sizeof(*d));

    d->kind = kind;
    d->name = name;
    d->type = type;
    d->finished = true;
    d->used = true;
    d->table = -1;
    d->defined_reg = -1;
    saw_scope_add(c->arena, c->universe, d);
    return d;
}

/* The intrinsic called @name as a declaration, entered on first use. */
static struct saw_decl *find_builtin(struct saw_checker *c, struct slice name)
{
    const struct saw_builtin *b = saw_builtin_find(name);
    struct saw_decl *d;

    if (!b || (name.len && name.data[0] == '$'))
        return NULL;
    d = check_predeclare(c, DECL_BUILTIN, slice_str(b->name), &saw_type_bad);
    d->builtin = b;
    return d;
}

void check_declare(struct saw_checker *c, struct saw_decl *d)
{
    struct saw_decl *old = saw_scope_find(c->scope, d->name);

    d->owner = c->fn;
    d->defined_reg = -1;
    d->table = -1;
    if (d->name.len == 0)
        return;
    if (old) {
        saw_error(c->diag, d->pos, "redeclaration of %.*s", SLICE_ARG(d->name));
        if (old->pos.source)
            saw_note(c->diag, old->pos, "previous declaration");
        return;
    }
    if (!c->in_prelude &&
        (saw_scope_find(c->universe, d->name) || find_builtin(c, d->name)))
        saw_warning(c->diag, d->pos,
                    "declaration of %.*s hides the predefined identifier",
                    SLICE_ARG(d->name));
    saw_scope_add(c->arena, c->scope, d);
}

struct saw_decl *
check_lookup(struct saw_checker *c, struct slice name, struct saw_pos pos)
{
    struct saw_decl *d = saw_scope_lookup(c->scope, name);
    struct slice similar;

    if (!d)
        d = find_builtin(c, name);
    if (d || name.len == 0)
        return d;
    similar = saw_scope_similar(c->scope, name);
    if (similar.len)
        saw_error(c->diag, pos, "%.*s undeclared; did you mean '%.*s'?",
                  SLICE_ARG(name), SLICE_ARG(similar));
    else
        saw_error(c->diag, pos, "%.*s undeclared", SLICE_ARG(name));
    return NULL;
}

bool check_in_static(const struct saw_checker *c)
{
    const struct saw_function *f;

    for (f = c->fn; f; f = f->owner) {
        if (f->in_static)
            return true;
    }
    return false;
}

/* Within the initialiser of a static, variables declared outside of it do not
 * exist yet (unless static themselves). */
static bool check_reachable(const struct saw_checker *c,
                            const struct saw_decl *d)
{
    const struct saw_function *f;

    for (f = c->fn; f; f = f->owner) {
        if (f->in_static)
            return false;
        if (f == d->owner)
            return true;
    }
    return true;
}

bool check_use(struct saw_checker *c, struct saw_decl *d, struct saw_pos pos)
{
    struct saw_function *f;

    d->used = true;
    if (d->kind != DECL_VAR || d->is_static || d->bound)
        return true;
    c->nonstatic_use = true;
    if (!check_reachable(c, d)) {
        saw_error(c->diag, pos,
                  "variable %.*s is not static: the initialiser of a static "
                  "cannot use it",
                  SLICE_ARG(d->name));
        return false;
    }
    for (f = c->fn; f && f != d->owner; f = f->owner) {
        d->captured = true;
        if (d->owner && d->owner->level > f->context_level)
            f->context_level = d->owner->level;
    }
    return true;
}

/* --- predeclared names --------------------------------------------------- */

static void check_constant(struct saw_checker *c,
                           const char *name,
                           const struct saw_type *type,
                           union saw_slot v)
{
    struct saw_decl *d = check_predeclare(c, DECL_CONST, slice_str(name), type);
    union saw_slot *slot = arena_alloc(c->arena, sizeof(*slot));

    *slot = v;
    d->constant = slot;
}

static void check_constants(struct saw_checker *c)
{
    static const struct {
        const char *name;
        double value;
    } floats[] = {{"PI", 3.14159265358979323846},
                  {"inf", (double)INFINITY},
                  {"Inf", (double)INFINITY},
                  {"nan", (double)NAN},
                  {"NaN", (double)NAN}};

    static const struct {
        const char *name;
        uint64_t value;
    } times[] = {{"SECOND", 1000000},   {"SEC", 1000000},
                 {"MINUTE", 60000000},  {"MIN", 60000000},
                 {"HOUR", 3600000000U}, {"HR", 3600000000U}};

    size_t i;

    check_constant(c, "true", &saw_type_bool, (union saw_slot){.i = 1});
    check_constant(c, "false", &saw_type_bool, (union saw_slot){.i = 0});
    for (i = 0; i < ARRAY_LEN(floats); i++)
        check_constant(c, floats[i].name, &saw_type_float,
                       (union saw_slot){.f = floats[i].value});
    for (i = 0; i < ARRAY_LEN(times); i++)
        check_constant(c, times[i].name, &saw_type_time,
                       (union saw_slot){.u = times[i].value});
}

static void basic_types(struct saw_checker *c)
{
    static const struct saw_type *const types[] = {
        &saw_type_bool,  &saw_type_bytes, &saw_type_fingerprint,
        &saw_type_float, &saw_type_int,   &saw_type_string,
        &saw_type_time,  &saw_type_uint};
    size_t i;

    for (i = 0; i < ARRAY_LEN(types); i++)
        check_predeclare(c, DECL_TYPE, types[i]->name, types[i]);
}

static struct saw_decl *check_parameter(struct saw_checker *c,
                                        const char *name,
                                        const struct saw_type *type)
{
    struct saw_decl *d = arena_zalloc(c->arena, sizeof(*d));

    d->kind = DECL_VAR;
    d->name = slice_str(name);
    d->type = type;
    d->finished = true;
    d->is_param = true;
    check_declare(c, d);
    saw_decls_add(c->arena, &c->fn->params, d);
    return d;
}

/* --- the whole ----------------------------------------------------------- */

static void check_body(struct saw_checker *c, struct saw_function *f)
{
    size_t i;

    for (i = 0; i < f->body->u.block.count; i++)
        check_stmt(c, f->body->u.block.at[i]);
}

static void find_predeclared(struct saw_checker *c)
{
    struct saw_unit *u = c->unit;
    struct saw_decl *row;

    u->keep = saw_scope_find(c->universe, slice_str("keep"));
    u->undef_count = saw_scope_find(c->universe, slice_str("_undef_cnt"));
    u->undef_details = saw_scope_find(c->universe, slice_str("_undef_details"));
    row = saw_scope_find(c->universe, slice_str("Row"));
    INVARIANT(u->keep && u->undef_count && u->undef_details && row);
    u->row_type = row->type;
}

static void add_function(struct saw_checker *c, struct saw_function *f)
{
    struct saw_functions *l = &c->unit->functions;

    l->cap = 16;
    l->at = arena_alloc(c->arena, l->cap * sizeof(*l->at));
    f->index = 0;
    l->at[l->count++] = f;
}

static void init_checker(struct saw_checker *c,
                         struct arena *a,
                         const struct saw_compile_options *opts,
                         struct saw_diag *d,
                         struct saw_unit *out)
{
    *c = (struct saw_checker){.arena = a, .diag = d, .opts = opts, .unit = out};
    c->fold.arena = a;
    c->fold.bytes_max = a->bytes + FOLD_BYTES_MAX;
    c->fold.work_max = FOLD_WORK_MAX;
    c->fold.folding = true;
    c->fold.restricted = opts->restricted;
    rand_init(&c->fold.rand, 1);
    hash_map_init(&c->tables, HASH_KEYS_BORROWED);
    hash_map_init(&c->columns, HASH_KEYS_BORROWED);
    c->universe = saw_scope_new(a, NULL);
    c->scope = c->universe;
}

bool saw_check(struct arena *a,
               const struct saw_compile_options *opts,
               struct saw_function *prelude,
               struct saw_function *main,
               struct saw_diag *d,
               struct saw_unit *out)
{
    struct saw_checker c;
    size_t i;

    *out = (struct saw_unit){.main = main};
    init_checker(&c, a, opts, d, out);
    c.fn = main;
    main->type = &saw_type_void;
    add_function(&c, main);
    basic_types(&c);
    check_constants(&c);
    c.in_prelude = true;
    check_body(&c, prelude);
    c.in_prelude = false;
    find_predeclared(&c);
    check_open_scope(&c);
    out->input = check_parameter(&c, "input", &saw_type_bytes);
    out->input_key = check_parameter(&c, "input_key", &saw_type_bytes);
    out->row = check_parameter(&c, "$row", out->row_type);
    check_body(&c, main);
    check_close_scope(&c);
    INVARIANT(c.scope == c.universe && c.fn == main && !c.statexpr);
    INVARIANT(c.loops == 0 && c.breakables == 0);
    for (i = 0; i < out->functions.count && d->error_count == 0; i++)
        check_flow(&c, out->functions.at[i]);
    hash_map_close(&c.tables);
    hash_map_close(&c.columns);
    buf_close(&c.fold.scratch);
    saw_builtins_close(&c.fold);
    return d->error_count == 0;
}

void saw_unit_close(struct saw_unit *u)
{
    size_t i;

    for (i = 0; i < u->sites.count; i++) {
        struct saw_call *site = u->sites.at[i];
        INVARIANT(site->prepared && site->builtin); /* add_site() chose it. */
        if (site->builtin->release)
            site->builtin->release(site->prepared);
        site->prepared = NULL;
    }
    u->sites.count = 0;
}
