/* The checked tree of a program in readable form.
 *
 * A node a line, parts indented below it; expressions carry their type, and
 * constants their value. A spine of left operands (a + b - c …) is one node,
 * so that neither the text nor the C stack grows with the square of its
 * length.
 */
#include "sawzall-lite/checker/dump_tree.h"

struct dump {
    struct buf *out;
    unsigned depth;
    uint32_t line; /* The line shown last. */
};

static void dump_expr(struct dump *d, const struct saw_expr *e);
static void dump_stmt(struct dump *d, const struct saw_stmt *s);

/* --- lines --------------------------------------------------------------- */

static void dump_begin(struct dump *d)
{
    buf_append_fill(d->out, ' ', 2 * (size_t)d->depth);
}

/* Begin the line of a statement, with its place in the source. */
static void begin_at(struct dump *d, struct saw_pos pos, const char *what)
{
    uint32_t line = saw_pos_line(pos);

    dump_begin(d);
    buf_append_str(d->out, what);
    if (line != 0 && line != d->line)
        buf_printf(d->out, " @%u", line);
    d->line = line;
}

static void dump_end(struct dump *d)
{
    buf_append_byte(d->out, '\n');
}

static void end_type(struct dump *d, const struct saw_type *t)
{
    if (t && t->kind != SAW_VOID) {
        buf_append_str(d->out, " : ");
        saw_type_print(t, d->out);
    }
    dump_end(d);
}

static void dump_label(struct dump *d, const char *text)
{
    dump_begin(d);
    buf_append_str(d->out, text);
    dump_end(d);
}

static void dump_exprs(struct dump *d, const struct saw_exprs *l)
{
    size_t i;

    d->depth++;
    for (i = 0; i < l->count; i++)
        dump_expr(d, l->at[i]);
    d->depth--;
}

/* Below the line of the node it belongs to. */
static void dump_child(struct dump *d, const struct saw_expr *e)
{
    d->depth++;
    if (e)
        dump_expr(d, e);
    d->depth--;
}

static void child_stmt(struct dump *d, const struct saw_stmt *s)
{
    d->depth++;
    if (s)
        dump_stmt(d, s);
    d->depth--;
}

/* --- expressions --------------------------------------------------------- */

/* Lines are of bounded length even where constants are long. */
static void dump_constant(struct dump *d, const struct saw_expr *e)
{
    const struct saw_expr literal = {
        .kind = EXPR_LITERAL, .type = e->type, .constant = e->constant};

    dump_begin(d);
    saw_expr_print(&literal, d->out);
    end_type(d, e->type);
}

/* Operations of one chain that are shown. */
#define SPINE_SHOWN 200

/* The operands of a + b - c … in order, each with the operator before it. */
static void dump_spine(struct dump *d, const struct saw_expr *e)
{
    const struct saw_expr *ops[SPINE_SHOWN];
    size_t count = 0;
    size_t i;

    bool chain =
        e->u.binary.left->kind == EXPR_BINARY && !e->u.binary.left->constant;

    dump_begin(d);
    buf_append_str(d->out, chain ? "chain" : saw_op_text(e->u.binary.op));
    end_type(d, e->type);
    while (e->kind == EXPR_BINARY && !e->constant && count < SPINE_SHOWN) {
        ops[count++] = e;
        e = e->u.binary.left;
    }
    d->depth++;
    if (e->kind == EXPR_BINARY && !e->constant)
        dump_label(d, "…");
    else
        dump_expr(d, e);
    for (i = count; i-- > 0;) {
        if (count > 1)
            dump_label(d, saw_op_text(ops[i]->u.binary.op));
        dump_expr(d, ops[i]->u.binary.right);
    }
    d->depth--;
}

static const char *call_name(enum saw_call_kind kind)
{
    switch (kind) {
    case CALL_FUNCTION: return "call";
    case CALL_BUILTIN: return "intrinsic";
    case CALL_DEF: return "def";
    case CALL_NEW: return "new";
    case CALL_LEN: return "len";
    case CALL_HASKEY: return "haskey";
    case CALL_LOOKUP: return "lookup";
    case CALL_INPROTO: return "inproto";
    case CALL_CLEARPROTO: return "clearproto";
    case CALL_UNDEFINE: return "___undefine";
    case CALL_DEBUG: return "DEBUG";
    case CALL_CELL: return "cell";
    case CALL_SAW: return "saw";
    case CALL_NOTHING: return "nothing";
    }
    return "?";
}

static void dump_call(struct dump *d, const struct saw_expr *e)
{
    bool named = e->u.call.fn && e->u.call.fn->kind == EXPR_NAME;

    dump_begin(d);
    buf_append_str(d->out, call_name(e->u.call.kind));
    if (named &&
        (e->u.call.kind == CALL_FUNCTION || e->u.call.kind == CALL_BUILTIN))
        buf_printf(d->out, " %.*s", SLICE_ARG(e->u.call.fn->u.name.text));
    end_type(d, e->type);
    if (!named && e->u.call.kind == CALL_FUNCTION)
        dump_child(d, e->u.call.fn);
    dump_exprs(d, &e->u.call.args);
}

static void dump_function(struct dump *d, const struct saw_expr *e)
{
    dump_begin(d);
    saw_type_print(e->type, d->out);
    dump_end(d);
    if (e->u.function.fn)
        child_stmt(d, e->u.function.fn->body);
}

/* A node that is named by a word. */
static void
dump_word(struct dump *d, const char *text, const struct saw_expr *e)
{
    dump_begin(d);
    buf_append_str(d->out, text);
    end_type(d, e->type);
}

static void dump_expr(struct dump *d, const struct saw_expr *e)
{
    if (e->constant) {
        dump_constant(d, e);
        return;
    }
    switch (e->kind) {
    case EXPR_BAD:
    case EXPR_LITERAL: dump_word(d, "?", e); break;
    case EXPR_TIME_TEXT: dump_word(d, "time", e); break;
    case EXPR_NAME:
        dump_begin(d);
        buf_append_slice(d->out, e->u.name.text);
        end_type(d, e->type);
        break;
    case EXPR_UNARY:
        dump_word(d, saw_op_text(e->u.binary.op), e);
        dump_child(d, e->u.binary.left);
        break;
    case EXPR_BINARY: dump_spine(d, e); break;
    case EXPR_SELECT:
        dump_begin(d);
        buf_printf(d->out, ".%.*s", SLICE_ARG(e->u.select.name));
        end_type(d, e->type);
        dump_child(d, e->u.select.object);
        break;
    case EXPR_INDEX:
        dump_word(d, e->u.index.end ? "slice" : "index", e);
        dump_child(d, e->u.index.object);
        dump_child(d, e->u.index.begin);
        dump_child(d, e->u.index.end);
        break;
    case EXPR_DOLLAR: dump_word(d, "$", e); break;
    case EXPR_CALL: dump_call(d, e); break;
    case EXPR_CONVERT:
        dump_word(d, "convert", e);
        dump_exprs(d, &e->u.convert.args);
        break;
    case EXPR_COMPOSITE:
        dump_word(d, "{}", e);
        dump_exprs(d, &e->u.composite.items);
        break;
    case EXPR_FUNCTION: dump_function(d, e); break;
    case EXPR_STATEXPR:
        dump_word(d, "?{}", e);
        child_stmt(d, e->u.statexpr.body);
        break;
    case EXPR_TYPE: dump_word(d, "type", e); break;
    }
}

/* --- statements ---------------------------------------------------------- */

static void dump_decl(struct dump *d, const struct saw_decl *v)
{
    begin_at(d, v->pos, v->is_static ? "static" : "var");
    buf_printf(d->out, " %.*s", SLICE_ARG(v->name));
    end_type(d, v->type);
    dump_child(d, v->init);
}

static void dump_emit(struct dump *d, const struct saw_stmt *s)
{
    begin_at(d, s->pos, "emit");
    buf_printf(d->out, " %.*s", SLICE_ARG(s->u.emit.name));
    dump_end(d);
    dump_exprs(d, &s->u.emit.indices);
    d->depth++;
    dump_label(d, "<-");
    dump_child(d, s->u.emit.value);
    if (s->u.emit.weight) {
        dump_label(d, "weight");
        dump_child(d, s->u.emit.weight);
    }
    d->depth--;
}

static void dump_loop(struct dump *d, const struct saw_stmt *s)
{
    begin_at(d, s->pos, s->u.loop.cond_last ? "do" : "loop");
    dump_end(d);
    child_stmt(d, s->u.loop.before);
    dump_child(d, s->u.loop.cond);
    d->depth++;
    dump_label(d, "body");
    child_stmt(d, s->u.loop.body);
    if (s->u.loop.after) {
        dump_label(d, "step");
        child_stmt(d, s->u.loop.after);
    }
    d->depth--;
}

static void dump_branch(struct dump *d, const struct saw_stmt *s)
{
    begin_at(d, s->pos, "if");
    dump_end(d);
    dump_child(d, s->u.branch.cond);
    d->depth++;
    dump_label(d, "then");
    child_stmt(d, s->u.branch.then);
    if (s->u.branch.otherwise) {
        dump_label(d, "else");
        child_stmt(d, s->u.branch.otherwise);
    }
    d->depth--;
}

static void select_case(struct dump *d, const struct saw_stmt *s)
{
    size_t i;

    begin_at(d, s->pos, "switch");
    dump_end(d);
    dump_child(d, s->u.select.tag);
    d->depth++;
    for (i = 0; i < s->u.select.case_count; i++) {
        const struct saw_case *c = &s->u.select.cases[i];
        dump_label(d, c->labels.count ? "case" : "default");
        dump_exprs(d, &c->labels);
        child_stmt(d, c->body);
    }
    d->depth--;
}

static void dump_when(struct dump *d, const struct saw_stmt *s)
{
    static const char *const words[] = {"", "all", "each", "some"};
    size_t i;

    begin_at(d, s->pos, "when");
    dump_end(d);
    d->depth++;
    for (i = 0; i < s->u.when.vars.count; i++) {
        const struct saw_decl *v = s->u.when.vars.at[i];
        dump_begin(d);
        buf_printf(d->out, "%s %.*s", words[v->quant], SLICE_ARG(v->name));
        end_type(d, v->type);
    }
    d->depth--;
    dump_child(d, s->u.when.cond);
    d->depth++;
    dump_label(d, "body");
    child_stmt(d, s->u.when.body);
    d->depth--;
}

/* A statement that is a word and at most one expression. */
static void
dump_simple(struct dump *d, const struct saw_stmt *s, const char *text)
{
    bool has_value = s->kind == STMT_EXPR || s->kind == STMT_RETURN ||
                     s->kind == STMT_RESULT;

    begin_at(d, s->pos, text);
    dump_end(d);
    if (has_value)
        dump_child(d, s->u.expr);
}

static void dump_block(struct dump *d, const struct saw_stmt *s)
{
    size_t i;

    for (i = 0; i < s->u.block.count; i++)
        dump_stmt(d, s->u.block.at[i]);
}

static void dump_stmt(struct dump *d, const struct saw_stmt *s)
{
    switch (s->kind) {
    case STMT_EMPTY:
    case STMT_TYPE:
    case STMT_PROTO: break;
    case STMT_BLOCK: dump_block(d, s); break;
    case STMT_BREAK: dump_simple(d, s, "break"); break;
    case STMT_CONTINUE: dump_simple(d, s, "continue"); break;
    case STMT_DECL: dump_decl(d, s->u.decl); break;
    case STMT_EMIT: dump_emit(d, s); break;
    case STMT_EXPR: dump_simple(d, s, "expression"); break;
    case STMT_LOOP: dump_loop(d, s); break;
    case STMT_IF: dump_branch(d, s); break;
    case STMT_RESULT: dump_simple(d, s, "result"); break;
    case STMT_RETURN: dump_simple(d, s, "return"); break;
    case STMT_SWITCH: select_case(d, s); break;
    case STMT_WHEN: dump_when(d, s); break;
    case STMT_ASSIGN:
        begin_at(d, s->pos, "=");
        dump_end(d);
        dump_child(d, s->u.assign.target);
        dump_child(d, s->u.assign.value);
        break;
    case STMT_INCREMENT:
        begin_at(d, s->pos, s->u.increment.delta > 0 ? "++" : "--");
        dump_end(d);
        dump_child(d, s->u.increment.target);
        break;
    }
}

void saw_tree_dump(const struct saw_unit *u, struct buf *out)
{
    struct dump d = {.out = out};

    dump_block(&d, u->main->body);
}
