/* Control flow: statements that are never reached, and functions that can end
 * without a result. Conditions count only where they are constant, so a
 * warning is always right. */
#include "sawzall-lite/checker/check_internal.h"

static bool check_flow_completes(const struct saw_stmt *s);

/* Whether a break in @s leaves the statement around it. */
static bool check_flow_breaks(const struct saw_stmt *s)
{
    size_t i;

    switch ((int)s->kind) {
    case STMT_BREAK: return true;
    case STMT_BLOCK:
        for (i = 0; i < s->u.block.count; i++) {
            if (check_flow_breaks(s->u.block.at[i]))
                return true;
        }
        return false;
    case STMT_IF:
        return check_flow_breaks(s->u.branch.then) ||
               (s->u.branch.otherwise &&
                check_flow_breaks(s->u.branch.otherwise));
    case STMT_WHEN: return s->u.when.body && check_flow_breaks(s->u.when.body);
    default: return false;
    }
}

static bool loop_completes(const struct saw_stmt *s)
{
    const struct saw_expr *cond = s->u.loop.cond;
    bool forever = !cond || (cond->constant && cond->constant->i != 0);

    return !forever || check_flow_breaks(s->u.loop.body);
}

static bool switch_completes(const struct saw_stmt *s)
{
    size_t i;

    for (i = 0; i < s->u.select.case_count; i++) {
        const struct saw_stmt *body = s->u.select.cases[i].body;
        if (check_flow_completes(body) || check_flow_breaks(body))
            return true;
    }
    return s->u.select.case_count == 0;
}

/* Whether the statement after @s can be reached through it. */
static bool check_flow_completes(const struct saw_stmt *s)
{
    size_t i;

    switch ((int)s->kind) {
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_RESULT:
    case STMT_RETURN: return false;
    case STMT_BLOCK:
        for (i = 0; i < s->u.block.count; i++) {
            if (!check_flow_completes(s->u.block.at[i]))
                return false;
        }
        return true;
    case STMT_IF:
        return !s->u.branch.otherwise ||
               check_flow_completes(s->u.branch.then) ||
               check_flow_completes(s->u.branch.otherwise);
    case STMT_LOOP: return loop_completes(s);
    case STMT_SWITCH: return switch_completes(s);
    default: return true;
    }
}

static void check_flow_unreachable(struct saw_checker *c,
                                   const struct saw_stmt *s);

static void check_flow_block(struct saw_checker *c, const struct saw_stmts *b)
{
    bool reached = true;
    size_t i;

    for (i = 0; i < b->count; i++) {
        const struct saw_stmt *s = b->at[i];
        if (!reached && s->kind != STMT_EMPTY && s->kind != STMT_TYPE) {
            saw_warning(c->diag, s->pos, "this is never reached");
            return;
        }
        check_flow_unreachable(c, s);
        reached = reached && check_flow_completes(s);
    }
}

/* Warn about statements in @s that are never reached. */
static void check_flow_unreachable(struct saw_checker *c,
                                   const struct saw_stmt *s)
{
    size_t i;

    switch ((int)s->kind) {
    case STMT_BLOCK: check_flow_block(c, &s->u.block); break;
    case STMT_IF:
        check_flow_unreachable(c, s->u.branch.then);
        if (s->u.branch.otherwise)
            check_flow_unreachable(c, s->u.branch.otherwise);
        break;
    case STMT_LOOP: check_flow_unreachable(c, s->u.loop.body); break;
    case STMT_WHEN: check_flow_unreachable(c, s->u.when.body); break;
    case STMT_SWITCH:
        for (i = 0; i < s->u.select.case_count; i++)
            check_flow_unreachable(c, s->u.select.cases[i].body);
        break;
    default: break;
    }
}

void check_flow(struct saw_checker *c, const struct saw_function *f)
{
    struct saw_pos pos = f->pos;

    if (!f->body || !pos.source)
        return;
    check_flow_unreachable(c, f->body);
    if (f->level == 0 || f->type->kind != SAW_FUNCTION ||
        f->type->elem->kind == SAW_VOID || !check_flow_completes(f->body))
        return;
    if (f->name.len)
        pos.end = pos.begin + (uint32_t)f->name.len;
    saw_warning(c->diag, pos, "function %.*s can end without a result",
                SLICE_ARG(f->name));
}
