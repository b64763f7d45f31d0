/* Tokens of JavaScript: their bytes first, then what the bracket around them
 * and the token before make of them. */
#include "web/replay/js_token.h"

#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "web/replay/js_literal.h"

void js_scanner_init(struct js_scanner *s, struct slice js, bool is_module)
{
    *s = (struct js_scanner){.js = js, .is_module = is_module, .cap = 16};
    s->frames = mem_zalloc(s->cap, sizeof(*s->frames));
    s->frames[0].has_arguments = !is_module;
}

void js_scanner_close(struct js_scanner *s)
{
    mem_free(s->frames);
    s->frames = NULL;
}

struct js_frame *js_frame_of(const struct js_scanner *s)
{
    return &s->frames[s->depth]; /* INV-1 */
}

bool js_token_is(const struct js_token *t, const char *text)
{
    return (t->kind == JS_NAME || t->kind == JS_PUNCTUATOR) &&
           slice_eq_str(t->bytes, text);
}

static bool last_is(const struct js_scanner *s, const char *text)
{
    return s->has_last && js_token_is(&s->last, text);
}

static bool is_one_of(struct slice s, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slice_eq_str(s, words[i]))
            return true;
    return false;
}

static void lose_text(struct js_scanner *s)
{
    s->is_lost = true;
    s->at = s->js.len;
}

struct slice js_ahead(const struct js_scanner *s)
{
    bool lines = false;
    return slice_sub(s->js, js_blanks_end(s->js, s->at, s->is_module, &lines),
                     s->js.len);
}

/* --- what went before ---------------------------------------------------- */

/* Keywords that an operand follows. */
static const char *const operators[] = {
    "return", "typeof", "instanceof", "in",      "of", "new",
    "delete", "void",   "throw",      "case",    "do", "else",
    "yield",  "await",  "extends",    "default",
};

/* Does the last token end a value, so that an operator follows? */
static bool ends_value(const struct js_scanner *s)
{
    const struct js_token *t = &s->last;
    if (!s->has_last)
        return false;
    switch (t->kind) {
    case JS_NAME:
        return t->is_property || t->is_key ||
               !is_one_of(t->bytes, operators, ARRAY_LEN(operators));
    case JS_TEMPLATE: return t->bytes.data[t->bytes.len - 1] == '`';
    case JS_NUMBER:
    case JS_STRING:
    case JS_REGEX: return true;
    case JS_PUNCTUATOR: break;
    }
    switch (t->bytes.data[0]) {
    case ')': return s->closed.role != JS_CONTROL;
    case '}': return s->closed.is_value;
    case ']': return true;
    default: return js_token_is(t, "++") || js_token_is(t, "--");
    }
}

/* May a statement begin here? */
static bool at_statement(const struct js_scanner *s)
{
    const struct js_frame *f = js_frame_of(s);
    bool in_block =
        f->role == JS_BLOCK || f->role == JS_FUNCTION || f->role == JS_ARROW;
    if (!in_block)
        return false;
    return !s->has_last || ends_value(s) || last_is(s, ";") ||
           last_is(s, "{") || last_is(s, "}") || last_is(s, ")") ||
           last_is(s, "else") || last_is(s, "do") || last_is(s, "export") ||
           last_is(s, "default") || (last_is(s, ":") && !s->colon_is_ternary);
}

/* --- frames -------------------------------------------------------------- */

static struct js_frame *push_frame(struct js_scanner *s, enum js_role role)
{
    struct js_frame *f;
    bool has_arguments = js_frame_of(s)->has_arguments;
    if (s->depth + 1 >= JS_DEPTH_MAX) {
        lose_text(s);
        return js_frame_of(s);
    }
    if (++s->depth == s->cap) {
        s->cap *= 2;
        s->frames = mem_realloc(s->frames, s->cap * sizeof(*s->frames));
    }
    f = js_frame_of(s);
    *f = (struct js_frame){.role = (uint8_t)role,
                           .has_arguments = has_arguments};
    s->functions += role == JS_FUNCTION || role == JS_ARROW;
    if (role == JS_FUNCTION)
        f->has_arguments = true;
    else if (role == JS_CLASS)
        f->has_arguments = false;
    return f;
}

static void pop_frame(struct js_scanner *s, char bracket)
{
    const struct js_frame *f = js_frame_of(s);
    bool is_right;
    switch (f->role) {
    case JS_CONTROL:
    case JS_GROUP: is_right = bracket == ')'; break;
    case JS_ARRAY: is_right = bracket == ']'; break;
    default: is_right = bracket == '}'; break;
    }
    if (s->depth == 0 || !is_right) {
        lose_text(s);
        return;
    }
    s->functions -= f->role == JS_FUNCTION || f->role == JS_ARROW;
    s->closed = *f;
    s->depth--;
}

/* The frame that a "{" opens, by what stands before it. */
static enum js_role brace_role(const struct js_scanner *s)
{
    static const char *const blocks[] = {"else", "do", "try", "finally",
                                         "catch"};
    const struct js_frame *f = js_frame_of(s);
    if (f->has_class)
        return JS_CLASS;
    if (f->expects_name || f->is_pattern || s->is_import)
        return JS_OBJECT;
    if (!s->has_last)
        return JS_BLOCK;
    if (last_is(s, ")"))
        return s->closed.role == JS_CONTROL ? JS_BLOCK : JS_FUNCTION;
    if (last_is(s, "=>"))
        return JS_ARROW;
    if (f->role == JS_CLASS && last_is(s, "static"))
        return JS_FUNCTION;
    if (s->last.kind == JS_NAME && !s->last.is_property &&
        is_one_of(s->last.bytes, blocks, ARRAY_LEN(blocks)))
        return JS_BLOCK;
    if (last_is(s, "export") || last_is(s, "default"))
        return JS_OBJECT;
    return at_statement(s) ? JS_BLOCK : JS_OBJECT;
}

/* The frame that was just pushed is a pattern of a declaration in its parent.
 */
static void begin_pattern(struct js_scanner *s)
{
    struct js_frame *f = js_frame_of(s);
    const struct js_frame *parent = f - 1;
    f->is_pattern = true;
    f->declares = parent->declares;
    f->is_top = parent->is_pattern ? parent->is_top : s->depth == 1;
}

static void open_brace(struct js_scanner *s)
{
    struct js_frame *f = js_frame_of(s);
    enum js_role role = brace_role(s);
    bool is_value = role == JS_OBJECT ||
                    (role == JS_CLASS && f->class_is_value) ||
                    (role == JS_FUNCTION && s->closed.function_value);
    bool is_pattern = f->expects_name || (f->is_pattern && !f->is_default);
    f->has_class = f->expects_name = false;
    f = push_frame(s, role);
    f->is_value = is_value;
    if (role == JS_OBJECT && is_pattern && !s->is_lost)
        begin_pattern(s);
}

static void open_parenthesis(struct js_scanner *s)
{
    static const char *const control[] = {"if",   "for",   "while", "switch",
                                          "with", "catch", "await"};
    struct js_frame *f = js_frame_of(s);
    bool is_control = s->has_last && s->last.kind == JS_NAME &&
                      !s->last.is_property && !s->last.is_key &&
                      is_one_of(s->last.bytes, control, ARRAY_LEN(control));
    bool function_value = f->has_function && f->function_value;
    if (last_is(s, "await") && !js_token_is(&s->before, "for"))
        is_control = false;
    f->has_function = f->is_special = f->expects_name = false;
    f = push_frame(s, is_control ? JS_CONTROL : JS_GROUP);
    f->function_value = function_value;
}

static void open_bracket(struct js_scanner *s)
{
    struct js_frame *f = js_frame_of(s);
    bool is_key = f->role == JS_OBJECT && (last_is(s, "{") || last_is(s, ","));
    bool is_pattern =
        f->expects_name || (f->is_pattern && !f->is_default && !is_key);
    f->expects_name = false;
    f = push_frame(s, JS_ARRAY);
    f->is_value = true;
    if (is_pattern && !s->is_lost)
        begin_pattern(s);
}

/* --- punctuators --------------------------------------------------------- */

static void end_statement(struct js_frame *f)
{
    f->declares = JS_BINDS_NOTHING;
    f->expects_name = f->has_class = f->has_function = f->is_special = false;
    f->ternaries = 0;
}

static void note_punctuator(struct js_scanner *s, const struct js_token *t)
{
    struct js_frame *f = js_frame_of(s);
    if (t->bytes.len > 1)
        return;
    switch (t->bytes.data[0]) {
    case '{': open_brace(s); break;
    case '(': open_parenthesis(s); break;
    case '[': open_bracket(s); break;
    case '}':
    case ')':
    case ']': pop_frame(s, t->bytes.data[0]); break;
    case ';':
        end_statement(f);
        s->is_import = false;
        break;
    case ',':
        f->expects_name = f->declares && !f->is_pattern;
        f->is_default = false;
        break;
    case '=':
        f->is_default = f->is_pattern;
        f->expects_name = false;
        break;
    case '*': f->is_special |= f->has_function; break;
    case '?': f->ternaries++; break;
    case ':':
        s->colon_is_ternary = f->ternaries > 0;
        if (f->ternaries)
            f->ternaries--;
        break;
    default: break;
    }
}

/* --- names --------------------------------------------------------------- */

/* A member's name in an object or a class. */
static bool is_member(const struct js_scanner *s, const struct js_token *t)
{
    static const char *const modifiers[] = {"get", "set", "async", "static",
                                            "accessor"};
    struct slice ahead = js_ahead(s);
    char next = ahead.len ? ahead.data[0] : '\0';
    enum js_role role = (enum js_role)js_frame_of(s)->role;
    bool begins = last_is(s, "{") || last_is(s, "*") ||
                  (s->last.kind == JS_NAME && !s->last.is_property &&
                   is_one_of(s->last.bytes, modifiers, ARRAY_LEN(modifiers)));
    if (role == JS_OBJECT)
        return (begins || last_is(s, ",")) && (next == ':' || next == '(');
    if (role != JS_CLASS)
        return false;
    return (begins || last_is(s, ";") || last_is(s, "}") ||
            (t->is_after_line && ends_value(s))) &&
           next && strchr("(=;}", next);
}

/* The name behind "function" or "class" that declares it. */
static enum js_binding named_after(const struct js_scanner *s)
{
    const struct js_frame *f = js_frame_of(s);
    if (f->has_function &&
        (last_is(s, "function") || (last_is(s, "*") && f->is_special))) {
        if (f->function_value)
            return JS_BINDS_NOTHING;
        return f->is_special ? JS_BINDS_SPECIAL_FUNCTION : JS_BINDS_FUNCTION;
    }
    if (last_is(s, "class") && f->has_class && !f->class_is_value)
        return JS_BINDS_LEXICAL;
    return JS_BINDS_NOTHING;
}

static void bind_name(struct js_scanner *s, struct js_token *t)
{
    struct js_frame *f = js_frame_of(s);
    struct slice ahead = js_ahead(s);
    if (s->is_import) {
        t->binding = JS_BINDS_IMPORT;
    } else if (f->expects_name) {
        t->binding = (enum js_binding)f->declares;
        f->expects_name = false;
    } else if (f->is_pattern && !f->is_default &&
               !slice_starts_with(ahead, SLICE_LIT(":"))) {
        t->binding = (enum js_binding)f->declares;
    } else {
        t->binding = named_after(s);
    }
    if (t->binding == JS_BINDS_VAR || t->binding == JS_BINDS_FUNCTION)
        t->is_top = s->functions == 0;
    else if (t->binding)
        t->is_top = s->is_import || (f->is_pattern ? f->is_top : s->depth == 0);
}

/* "let" is a name, too: it declares before a name or a pattern. */
static bool begins_declaration(const struct js_scanner *s,
                               const struct js_token *t)
{
    struct slice ahead = js_ahead(s);
    unsigned char next = ahead.len ? (unsigned char)ahead.data[0] : 0;
    if (!js_token_is(t, "var") && !js_token_is(t, "let") &&
        !js_token_is(t, "const"))
        return false;
    return js_is_name_start(next) || next == '{' || next == '[';
}

/* Keywords that change what follows; false: it is another name. */
static bool note_keyword(struct js_scanner *s, const struct js_token *t)
{
    struct js_frame *f = js_frame_of(s);
    struct slice ahead = js_ahead(s);
    if (begins_declaration(s, t)) {
        f->declares = js_token_is(t, "var") ? JS_BINDS_VAR : JS_BINDS_LEXICAL;
        f->expects_name = true;
    } else if (js_token_is(t, "function")) {
        bool is_async = last_is(s, "async") && !s->last.is_property;
        f->function_value = is_async ? !f->is_special : !at_statement(s);
        f->has_function = true;
        f->is_special = is_async;
    } else if (js_token_is(t, "async")) {
        /* Whether the function behind it is a statement. */
        f->is_special = at_statement(s);
    } else if (js_token_is(t, "class")) {
        f->class_is_value = !at_statement(s);
        f->has_class = true;
    } else if (js_token_is(t, "import") && s->depth == 0 &&
               !slice_starts_with(ahead, SLICE_LIT("(")) &&
               !slice_starts_with(ahead, SLICE_LIT("."))) {
        s->is_import = true;
    } else {
        return false;
    }
    return true;
}

/* A line's end between two values ends the statement. */
static void note_line(struct js_scanner *s, const struct js_token *t)
{
    if (t->is_after_line && (ends_value(s) || last_is(s, "}")) &&
        !js_token_is(t, "in") && !js_token_is(t, "of") &&
        !js_token_is(t, "instanceof") && js_frame_of(s)->role != JS_CLASS)
        end_statement(js_frame_of(s));
}

static void note_name(struct js_scanner *s, struct js_token *t)
{
    if (last_is(s, ".") || last_is(s, "?.") || last_is(s, "#")) {
        t->is_property = true;
        return;
    }
    t->is_key = !s->is_import && is_member(s, t);
    if (t->is_key)
        return;
    note_line(s, t);
    if (!note_keyword(s, t))
        bind_name(s, t);
}

/* --- tokens -------------------------------------------------------------- */

/* The token from @from to @end, which is JS_NO_END where the text is lost. */
static void take_to(struct js_scanner *s,
                    struct js_token *t,
                    enum js_kind kind,
                    size_t from,
                    size_t end)
{
    t->kind = kind;
    s->at = MIN_OF(end, s->js.len);
    t->bytes = slice_sub(s->js, from, s->at);
    if (end == JS_NO_END)
        lose_text(s);
}

/* A part of a template from @from, its first byte. */
static void take_template(struct js_scanner *s, struct js_token *t)
{
    bool opens;
    size_t end = js_template_end(s->js, s->at + 1, &opens);
    take_to(s, t, JS_TEMPLATE, s->at, end);
    if (opens)
        push_frame(s, JS_PART);
}

static void take_name(struct js_scanner *s, struct js_token *t)
{
    take_to(s, t, JS_NAME, s->at, js_name_end(s->js, s->at));
    note_name(s, t);
}

static void take_punctuator(struct js_scanner *s, struct js_token *t)
{
    take_to(s, t, JS_PUNCTUATOR, s->at, js_punctuator_end(s->js, s->at));
    note_punctuator(s, t);
}

static void take_value(struct js_scanner *s, struct js_token *t)
{
    unsigned char c = js_byte(s->js, s->at);
    if (c == '"' || c == '\'')
        take_to(s, t, JS_STRING, s->at, js_string_end(s->js, s->at));
    else if (c == '/')
        take_to(s, t, JS_REGEX, s->at, js_regex_end(s->js, s->at));
    else
        take_to(s, t, JS_NUMBER, s->at, js_number_end(s->js, s->at));
    if (t->kind == JS_STRING)
        s->is_import = false;
    note_line(s, t);
}

static bool begins_value(const struct js_scanner *s, unsigned char c)
{
    return c == '"' || c == '\'' || js_is_digit(c) ||
           (c == '.' && js_is_digit(js_byte(s->js, s->at + 1))) ||
           (c == '/' && !ends_value(s));
}

static void take_token(struct js_scanner *s, struct js_token *t)
{
    unsigned char c = js_byte(s->js, s->at);
    bool closes_part = c == '}' && js_frame_of(s)->role == JS_PART;
    if (closes_part)
        pop_frame(s, '}');
    if (c == '`' || closes_part)
        take_template(s, t);
    else if (begins_value(s, c))
        take_value(s, t);
    else if (js_is_name_start(c))
        take_name(s, t);
    else
        take_punctuator(s, t);
}

bool js_token_next(struct js_scanner *s, struct js_token *out)
{
    struct js_token t = {.kind = JS_NAME};
    if (s->is_lost)
        return false;
    t.is_after_line = !s->has_last; /* The text begins like a line. */
    s->at = js_blanks_end(s->js, s->at, s->is_module, &t.is_after_line);
    if (s->at == s->js.len) {
        s->is_lost = s->depth > 0;
        return false;
    }
    take_token(s, &t);
    s->before = s->last;
    s->last = t;
    s->has_last = true;
    *out = t;
    return !s->is_lost;
}
