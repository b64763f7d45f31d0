/* What string(f) gives for a function: its name or, of a function literal, its
 * text, a statement a line. */
#include "sawzall-lite/function_text.h"

#include "sawzall-lite/opcodes.h"

static void stmt(const struct saw_stmt *s, unsigned level, struct buf *out);

static void indent(unsigned level, struct buf *out)
{
    buf_append_fill(out, '\t', level);
}

/* The source of @pos, then @end. */
static void
source(const char *before, struct saw_pos pos, const char *end, struct buf *out)
{
    buf_append_str(out, before);
    saw_pos_print(pos, false, out);
    buf_append_str(out, end);
}

static void block(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    size_t i;

    buf_append_str(out, "{\n");
    for (i = 0; i < s->u.block.count; i++)
        stmt(s->u.block.at[i], level + 1, out);
    indent(level, out);
    buf_append_str(out, "}\n");
}

/* The statement that belongs to an if, a loop or a when. */
static void inner(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    if (s->kind == STMT_BLOCK) {
        buf_append_byte(out, ' ');
        block(s, level, out);
    } else {
        buf_append_byte(out, '\n');
        stmt(s, level + 1, out);
    }
}

static void loop(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    struct saw_expr *cond = s->u.loop.cond;

    if (s->u.loop.cond_last) {
        buf_append_str(out, "do");
        inner(s->u.loop.body, level, out);
        indent(level, out);
        source("while (", cond->pos, ");\n", out);
        return;
    }
    buf_append_str(out, "for (");
    if (s->u.loop.before)
        source("", s->u.loop.before->pos, "", out);
    buf_append_str(out, "; ");
    if (cond)
        source("", cond->pos, "", out);
    buf_append_str(out, "; ");
    if (s->u.loop.after)
        source("", s->u.loop.after->pos, "", out);
    buf_append_byte(out, ')');
    inner(s->u.loop.body, level, out);
}

static void branch(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    source("if (", s->u.branch.cond->pos, ")", out);
    inner(s->u.branch.then, level, out);
    if (!s->u.branch.otherwise)
        return;
    indent(level, out);
    buf_append_str(out, "else");
    inner(s->u.branch.otherwise, level, out);
}

static void cases(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    size_t i;
    size_t j;

    source("switch (", s->u.select.tag->pos, ") {\n", out);
    for (i = 0; i < s->u.select.case_count; i++) {
        const struct saw_case *c = &s->u.select.cases[i];
        indent(level, out);
        buf_append_str(out, c->labels.count ? "case " : "default");
        for (j = 0; j < c->labels.count; j++)
            source(j ? ", " : "", c->labels.at[j]->pos, "", out);
        buf_append_str(out, ":\n");
        for (j = 0; j < c->body->u.block.count; j++)
            stmt(c->body->u.block.at[j], level + 1, out);
    }
    indent(level, out);
    buf_append_str(out, "}\n");
}

static void when(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    static const char *const quantifiers[] = {"", "all", "each", "some"};
    size_t i;

    buf_append_str(out, "when (");
    for (i = 0; i < s->u.when.vars.count; i++) {
        const struct saw_decl *d = s->u.when.vars.at[i];
        buf_printf(out, "%.*s: %s ", SLICE_ARG(d->name), quantifiers[d->quant]);
        saw_type_print(d->type, out);
        buf_append_str(out, "; ");
    }
    source("", s->u.when.cond->pos, ")", out);
    inner(s->u.when.body, level, out);
}

static void stmt(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    indent(level, out);
    switch (s->kind) {
    case STMT_BLOCK: block(s, level, out); break;
    case STMT_LOOP: loop(s, level, out); break;
    case STMT_IF: branch(s, level, out); break;
    case STMT_SWITCH: cases(s, level, out); break;
    case STMT_WHEN: when(s, level, out); break;
    case STMT_EMPTY:
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_DECL:
    case STMT_TYPE:
    case STMT_EMIT:
    case STMT_EXPR:
    case STMT_RESULT:
    case STMT_RETURN:
    case STMT_ASSIGN:
    case STMT_INCREMENT:
    case STMT_PROTO:
        source("", s->pos, s->kind == STMT_EMPTY ? "\n" : ";\n", out);
        break;
    }
}

struct slice saw_function_text(struct arena *a, const struct saw_function *f)
{
    struct buf b = BUF_INIT;
    struct slice text;

    if (!f->literal)
        return f->name;
    saw_type_print(f->type, &b);
    buf_append_byte(&b, ' ');
    block(f->body, 0, &b);
    text = arena_dup(a, buf_slice(&b));
    buf_close(&b);
    return text;
}

struct slice saw_closure_text(const struct saw_closure *c)
{
    return c->code->text;
}
