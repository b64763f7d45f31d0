/* The fields of a proto tuple that a program reads.
 *
 * For a variable that holds a converted message, every use is found: a field
 * selected from it, or the variable as a whole. Fields that are never read
 * need not be decoded; the call site of the conversion gets their bits.
 */
#include "sawzall-lite/checker/reads.h"

/* Fields that have a bit in a mask. */
#define FIELDS_MAX 64

static void in_expr(const struct saw_expr *e);
static void in_stmt(const struct saw_stmt *s);

/* --- uses ---------------------------------------------------------------- */

static void in_exprs(const struct saw_exprs *l)
{
    size_t i;

    for (i = 0; i < l->count; i++)
        in_expr(l->at[i]);
}

static void in_name(const struct saw_expr *e)
{
    if (e->u.name.decl)
        e->u.name.decl->read_whole = true;
}

static void in_select(const struct saw_expr *e)
{
    const struct saw_expr *o = e->u.select.object;

    if (o->kind == EXPR_NAME && o->u.name.decl &&
        e->u.select.field < FIELDS_MAX)
        o->u.name.decl->fields_read |= UINT64_C(1) << e->u.select.field;
    else
        in_expr(o);
}

/* The spine of left operands is walked in a loop. */
static void in_expr(const struct saw_expr *e)
{
    for (; e && e->kind == EXPR_BINARY; e = e->u.binary.left)
        in_expr(e->u.binary.right);
    if (!e)
        return;
    switch (e->kind) {
    case EXPR_NAME: in_name(e); break;
    case EXPR_UNARY: in_expr(e->u.binary.left); break;
    case EXPR_SELECT: in_select(e); break;
    case EXPR_INDEX:
        in_expr(e->u.index.object);
        in_expr(e->u.index.begin);
        in_expr(e->u.index.end);
        break;
    case EXPR_CALL:
        if (e->u.call.kind == CALL_DEF && e->u.call.args.count == 1 &&
            e->u.call.args.at[0]->kind == EXPR_NAME)
            break; /* Reads whether the field is present, not its value. */
        in_expr(e->u.call.fn);
        in_exprs(&e->u.call.args);
        break;
    case EXPR_CONVERT: in_exprs(&e->u.convert.args); break;
    case EXPR_COMPOSITE: in_exprs(&e->u.composite.items); break;
    case EXPR_FUNCTION:
        if (e->u.function.fn)
            in_stmt(e->u.function.fn->body);
        break;
    case EXPR_STATEXPR: in_stmt(e->u.statexpr.body); break;
    case EXPR_BINARY:
    case EXPR_BAD:
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_DOLLAR:
    case EXPR_TYPE: break;
    }
}

static void in_switch(const struct saw_stmt *s)
{
    size_t i;

    in_expr(s->u.select.tag);
    for (i = 0; i < s->u.select.case_count; i++) {
        in_exprs(&s->u.select.cases[i].labels);
        in_stmt(s->u.select.cases[i].body);
    }
}

static void in_loop(const struct saw_stmt *s)
{
    in_stmt(s->u.loop.before);
    in_expr(s->u.loop.cond);
    in_stmt(s->u.loop.after);
    in_stmt(s->u.loop.body);
}

static void in_stmt(const struct saw_stmt *s)
{
    size_t i;

    if (!s)
        return;
    switch (s->kind) {
    case STMT_BLOCK:
        for (i = 0; i < s->u.block.count; i++)
            in_stmt(s->u.block.at[i]);
        break;
    case STMT_DECL: in_expr(s->u.decl->init); break;
    case STMT_EMIT:
        in_exprs(&s->u.emit.indices);
        in_expr(s->u.emit.value);
        in_expr(s->u.emit.weight);
        break;
    case STMT_EXPR:
    case STMT_RESULT:
    case STMT_RETURN: in_expr(s->u.expr); break;
    case STMT_LOOP: in_loop(s); break;
    case STMT_IF:
        in_expr(s->u.branch.cond);
        in_stmt(s->u.branch.then);
        in_stmt(s->u.branch.otherwise);
        break;
    case STMT_SWITCH: in_switch(s); break;
    case STMT_WHEN:
        in_expr(s->u.when.cond);
        in_stmt(s->u.when.body);
        break;
    case STMT_ASSIGN:
        in_expr(s->u.assign.target);
        in_expr(s->u.assign.value);
        break;
    case STMT_INCREMENT: in_expr(s->u.increment.target); break;
    case STMT_EMPTY:
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_TYPE:
    case STMT_PROTO: break;
    }
}

/* Arguments of the formats and files of tables; statics. */
static void in_statics(const struct saw_decls *l)
{
    size_t i;

    for (i = 0; i < l->count; i++) {
        const struct saw_decl *d = l->at[i];
        in_expr(d->init);
        if (d->type->kind != SAW_TABLE)
            continue;
        in_expr(d->type->table->syntax->param);
        in_exprs(&d->type->table->syntax->file);
        in_exprs(&d->type->table->syntax->format);
    }
}

void saw_reads_find(const struct saw_unit *u)
{
    in_statics(&u->statics);
    in_stmt(u->main->body);
}

/* --- conversions --------------------------------------------------------- */

void saw_reads_report(const struct saw_decl *d)
{
    const struct saw_expr *e = d->init;
    const struct saw_type *t = d->type;
    uint64_t unread;
    size_t i;

    if (!e || e->kind != EXPR_CONVERT || e->constant || !e->u.convert.site ||
        t->kind != SAW_TUPLE || !t->proto || t->field_count > FIELDS_MAX ||
        d->read_whole || e->type->kind != SAW_TUPLE ||
        e->type->field_count != t->field_count ||
        e->u.convert.args.at[0]->type->kind != SAW_BYTES)
        return;
    unread = ~d->fields_read;
    for (i = 0; i < t->field_count; i++) {
        if (t->fields[i].required)
            unread &= ~(UINT64_C(1) << i);
    }
    e->u.convert.site->unread_fields = unread;
}
