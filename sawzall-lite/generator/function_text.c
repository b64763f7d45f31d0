/* The text of functions, which string(f) gives: the name or, of a function
 * literal, its source, a statement a line as the published interpreter prints
 * it. */
#include "sawzall-lite/generator/function_text.h"

#include "sawzall-lite/front/ast.h"

static void
function_text_stmt(const struct saw_stmt *s, unsigned level, struct buf *out);

static void function_text_indent(unsigned level, struct buf *out)
{
    buf_append_fill(out, '\t', level);
}

/* The source of @pos, then @end. */
static void function_text_source(const char *before,
                                 struct saw_pos pos,
                                 const char *end,
                                 struct buf *out)
{
    buf_append_str(out, before);
    saw_pos_print(pos, false, out);
    buf_append_str(out, end);
}

static void
function_text_block(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    size_t i;

    buf_append_str(out, "{\n");
    for (i = 0; i < s->u.block.count; i++)
        function_text_stmt(s->u.block.at[i], level + 1, out);
    function_text_indent(level, out);
    buf_append_str(out, "}\n");
}

/* The statement that belongs to an if, a loop or a when. */
static void
function_text_inner(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    if (s->kind == STMT_BLOCK) {
        buf_append_byte(out, ' ');
        function_text_block(s, level, out);
    } else {
        buf_append_byte(out, '\n');
        function_text_stmt(s, level + 1, out);
    }
}

static void
function_text_loop(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    struct saw_expr *cond = s->u.loop.cond;

    if (s->u.loop.cond_last) {
        buf_append_str(out, "do");
        function_text_inner(s->u.loop.body, level, out);
        function_text_indent(level, out);
        function_text_source("while (", cond->pos, ");\n", out);
        return;
    }
    buf_append_str(out, "for (");
    if (s->u.loop.before)
        function_text_source("", s->u.loop.before->pos, "", out);
    buf_append_str(out, "; ");
    if (cond)
        function_text_source("", cond->pos, "", out);
    buf_append_str(out, "; ");
    if (s->u.loop.after)
        function_text_source("", s->u.loop.after->pos, "", out);
    buf_append_byte(out, ')');
    function_text_inner(s->u.loop.body, level, out);
}

static void
function_text_branch(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    function_text_source("if (", s->u.branch.cond->pos, ")", out);
    function_text_inner(s->u.branch.then, level, out);
    if (!s->u.branch.otherwise)
        return;
    function_text_indent(level, out);
    buf_append_str(out, "else");
    function_text_inner(s->u.branch.otherwise, level, out);
}

static void
function_text_cases(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    size_t i;
    size_t j;

    function_text_source("switch (", s->u.select.tag->pos, ") {\n", out);
    for (i = 0; i < s->u.select.case_count; i++) {
        const struct saw_case *c = &s->u.select.cases[i];
        function_text_indent(level, out);
        buf_append_str(out, c->labels.count ? "case " : "default");
        for (j = 0; j < c->labels.count; j++)
            function_text_source(j ? ", " : "", c->labels.at[j]->pos, "", out);
        buf_append_str(out, ":\n");
        for (j = 0; j < c->body->u.block.count; j++)
            function_text_stmt(c->body->u.block.at[j], level + 1, out);
    }
    function_text_indent(level, out);
    buf_append_str(out, "}\n");
}

static void
function_text_when(const struct saw_stmt *s, unsigned level, struct buf *out)
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
    function_text_source("", s->u.when.cond->pos, ")", out);
    function_text_inner(s->u.when.body, level, out);
}

static void
function_text_stmt(const struct saw_stmt *s, unsigned level, struct buf *out)
{
    function_text_indent(level, out);
    switch (s->kind) {
    case STMT_BLOCK: function_text_block(s, level, out); break;
    case STMT_LOOP: function_text_loop(s, level, out); break;
    case STMT_IF: function_text_branch(s, level, out); break;
    case STMT_SWITCH: function_text_cases(s, level, out); break;
    case STMT_WHEN: function_text_when(s, level, out); break;
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
        function_text_source("", s->pos, s->kind == STMT_EMPTY ? "\n" : ";\n",
                             out);
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
    function_text_block(f->body, 0, &b);
    text = arena_dup(a, buf_slice(&b));
    buf_close(&b);
    return text;
}
