/* Two readings of the tokens: what a script uses and declares, then its text.
 */
#include "web/replay/js_rewriter.h"

#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "web/replay/js_token.h"

#define ASSIGN "_____WB$wombat$assign$function_____"
#define EXPORT "_____WB$archive$export$function_____"
#define CHECK  "_____WB$wombat$check$this$function_____"
/* Names declared at the top level of a script; of more, the rest stays in its
 * block. */
#define EXPORTS_MAX 65536

#define ASSIGN_BODY                                                            \
    "function(name) {return (self._wb_wombat && self._wb_wombat.local_init "   \
    "&& self._wb_wombat.local_init(name)) || self[name]; };"
#define POST_MESSAGE                                                           \
    "if (!self.__WB_pmw) { self.__WB_pmw = function(obj) "                     \
    "{ this.__WB_source = obj; return this; } }"

/* Names that wombat stands in for. */
static const char *const stand_ins[] = {
    "window", "self",   "document", "location",   "top",
    "parent", "frames", "opener",   "globalThis",
};

const char js_module_declarations[] =
    "export var " ASSIGN " = " ASSIGN_BODY "\n" POST_MESSAGE "\n"
    "const wrapped = (name) => " ASSIGN "(name);\n"
    "const w_window = wrapped('window'), w_self = wrapped('self'),\n"
    "  w_document = wrapped('document'), w_location = wrapped('location'),\n"
    "  w_top = wrapped('top'), w_parent = wrapped('parent'),\n"
    "  w_frames = wrapped('frames'), w_opener = wrapped('opener'),\n"
    "  w_globalThis = wrapped('globalThis');\n"
    "export { w_window as window, w_self as self, w_document as document,\n"
    "  w_location as location, w_top as top, w_parent as parent,\n"
    "  w_frames as frames, w_opener as opener, w_globalThis as globalThis };\n";

/* The findings of the first pass. Bits are indexes of stand_ins. */
struct js_facts {
    unsigned used;
    unsigned declared; /* By the script itself, at its top. */
    unsigned assigned;
    bool has_changes;  /* One token or more is written otherwise, */
    bool has_location; /* an assignment to `location` among them. */
    bool is_module;
    struct slice *exports; /* Owned; their text is the script's. */
    size_t export_count;
    size_t export_cap;
};

struct js_rewriter {
    const struct js_rewrite_options *opts;
    struct js_scanner scanner;
    struct js_facts facts;
    struct byte_sink *out;
    size_t copied;       /* Bytes of the script before it are in the output. */
    bool awaits_assign;  /* The "=" behind `location` is to come. */
    bool location_plain; /* `arguments` may not be named there. */
};

/* The index of the stand-in that @t names; ARRAY_LEN(stand_ins): none. */
static size_t stand_in_of(struct slice name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(stand_ins) && !slice_eq_str(name, stand_ins[i]))
        i++;
    return i;
}

static bool begins_with(struct slice s, const char *text)
{
    return slice_starts_with(s, slice_str(text));
}

/* "=" but not "==" or "=>" */
static bool is_assignment(struct slice ahead)
{
    return begins_with(ahead, "=") && !begins_with(ahead, "==") &&
           !begins_with(ahead, "=>");
}

/* --- which tokens are changed --------------------------------------------- */

enum js_change {
    JS_SAME,
    JS_THIS,
    JS_LOCATION,
    JS_EVAL_CALL,
    JS_EVAL_VALUE,
    JS_POST_MESSAGE,
    JS_IMPORT_CALL,
    JS_IMPORT_FROM,
};

/* A name behind a dot, or in brackets, that is a stand-in's. */
static bool leads_to_stand_in(struct slice ahead)
{
    size_t n = 0;
    bool in_brackets = begins_with(ahead, "['") || begins_with(ahead, "[\"");
    size_t skip = in_brackets || begins_with(ahead, "?.") ? 2 : 1;
    ahead = slice_sub(ahead, skip, ahead.len);
    while (n < ahead.len && n < 16 &&
           ((ahead.data[n] >= 'a' && ahead.data[n] <= 'z') ||
            ahead.data[n] == 'T'))
        n++;
    return stand_in_of(slice_sub(ahead, 0, n)) < ARRAY_LEN(stand_ins) &&
           (n == ahead.len || !strchr("$_0123456789", ahead.data[n]));
}

/* May `this` be the window, as a value or for one of its names? */
static enum js_change change_of_this(const struct js_scanner *s)
{
    struct slice ahead = js_ahead(s);
    if (js_token_is(&s->before, "new"))
        return JS_SAME;
    if (begins_with(ahead, ".") || begins_with(ahead, "?.") ||
        begins_with(ahead, "["))
        return leads_to_stand_in(ahead) ? JS_THIS : JS_SAME;
    return begins_with(ahead, "`") ? JS_SAME : JS_THIS;
}

/* location = …, but neither a field of a class nor a default in a pattern. */
static enum js_change change_of_location(const struct js_scanner *s,
                                         const struct js_token *t)
{
    const struct js_frame *f = js_frame_of(s);
    bool is_default = f->role == JS_OBJECT && (js_token_is(&s->before, "{") ||
                                               js_token_is(&s->before, ","));
    if (t->binding || f->role == JS_CLASS || f->is_pattern || is_default ||
        !is_assignment(js_ahead(s)))
        return JS_SAME;
    return JS_LOCATION;
}

static enum js_change change_of_eval(const struct js_scanner *s)
{
    struct slice ahead = js_ahead(s);
    const struct js_token *b = &s->before;
    if (begins_with(ahead, "("))
        return js_token_is(b, "function") || js_token_is(b, "new")
                   ? JS_SAME
                   : JS_EVAL_CALL;
    if (is_assignment(ahead) || begins_with(ahead, ":") ||
        begins_with(ahead, "=>") || js_token_is(b, "typeof"))
        return JS_SAME;
    return js_token_is(b, "=") || js_token_is(b, ",") || js_token_is(b, "(") ||
                   js_token_is(b, "return")
               ? JS_EVAL_VALUE
               : JS_SAME;
}

/* PRE: @t was given last. */
static enum js_change change_of(const struct js_rewriter *r,
                                const struct js_token *t)
{
    const struct js_scanner *s = &r->scanner;
    if (t->kind == JS_STRING)
        return r->facts.is_module && s->depth == 0 &&
                       (js_token_is(&s->before, "from") ||
                        js_token_is(&s->before, "import"))
                   ? JS_IMPORT_FROM
                   : JS_SAME;
    if (t->kind != JS_NAME || t->is_key)
        return JS_SAME;
    if (t->is_property)
        return js_token_is(t, "postMessage") && begins_with(js_ahead(s), "(")
                   ? JS_POST_MESSAGE
                   : JS_SAME;
    if (js_token_is(t, "this"))
        return change_of_this(s);
    if (js_token_is(t, "location"))
        return change_of_location(s, t);
    if (js_token_is(t, "eval") && !t->binding)
        return change_of_eval(s);
    if (js_token_is(t, "import") && begins_with(js_ahead(s), "("))
        return JS_IMPORT_CALL;
    return JS_SAME;
}

/* --- the first pass ------------------------------------------------------ */

static void note_export(struct js_facts *f, struct slice name)
{
    if (f->export_count == EXPORTS_MAX ||
        slice_find_byte(name, '\\') < name.len)
        return;
    if (f->export_count == f->export_cap) {
        f->export_cap = f->export_cap ? f->export_cap * 2 : 16;
        f->exports =
            mem_realloc(f->exports, f->export_cap * sizeof(*f->exports));
    }
    f->exports[f->export_count++] = name;
}

static void note_use(struct js_rewriter *r, const struct js_token *t)
{
    struct js_facts *f = &r->facts;
    const struct js_scanner *s = &r->scanner;
    unsigned bit;
    size_t i;
    if (t->kind != JS_NAME || t->is_property || t->is_key)
        return;
    i = stand_in_of(t->bytes);
    bit = i < ARRAY_LEN(stand_ins) ? 1u << i : 0;
    f->used |= bit;
    if (!t->binding) {
        if (is_assignment(js_ahead(s)))
            f->assigned |= bit;
        return;
    }
    if (!t->is_top)
        return;
    f->declared |= bit;
    if (t->binding == JS_BINDS_LEXICAL ||
        t->binding == JS_BINDS_SPECIAL_FUNCTION)
        note_export(f, t->bytes);
}

static bool marks_module(const struct js_scanner *s, const struct js_token *t)
{
    struct slice ahead = js_ahead(s);
    if (s->depth || t->kind != JS_NAME || t->is_property)
        return false;
    return (js_token_is(t, "import") && s->is_import) ||
           (js_token_is(t, "export") && ahead.len &&
            !strchr("=:.,;)(", ahead.data[0]));
}

/* Read the script once. False: it stays as it is. */
static bool find_facts(struct js_rewriter *r, struct slice js)
{
    struct js_token t;
    bool is_module = r->facts.is_module;
    bool understood;
    js_scanner_init(&r->scanner, js, is_module);
    while (js_token_next(&r->scanner, &t)) {
        enum js_change change;
        r->facts.is_module |= marks_module(&r->scanner, &t);
        change = change_of(r, &t);
        note_use(r, &t);
        r->facts.has_changes |= change != JS_SAME;
        if (change == JS_EVAL_CALL)
            r->facts.used = (1u << ARRAY_LEN(stand_ins)) - 1;
        r->facts.has_location |= change == JS_LOCATION;
    }
    understood = !r->scanner.is_lost;
    js_scanner_close(&r->scanner);
    if (understood && r->facts.is_module && !is_module) {
        r->facts.export_count = 0;
        return find_facts(r, js); /* Read as one from its beginning. */
    }
    return understood && (r->facts.used || r->facts.has_changes);
}

/* --- around the script --------------------------------------------------- */

static void put_text(struct js_rewriter *r, const char *text)
{
    buf_append_str(&r->out->pending, text);
    byte_sink_check(r->out);
}

static void put_stand_in(struct js_rewriter *r, const char *how, size_t i)
{
    buf_printf(&r->out->pending, "%s %s = " ASSIGN "(\"%s\"); ", how,
               stand_ins[i], stand_ins[i]);
}

static void put_exports(struct js_rewriter *r)
{
    const struct js_facts *f = &r->facts;
    if (!f->export_count || r->opts->is_attribute)
        return;
    for (size_t i = 0; i < f->export_count; i++) {
        struct slice n = f->exports[i];
        buf_printf(&r->out->pending,
                   EXPORT "(\"%.*s\", function() { return %.*s; }, "
                          "function(__WB_value) { %.*s = __WB_value; }); ",
                   SLICE_ARG(n), SLICE_ARG(n), SLICE_ARG(n));
        byte_sink_check(r->out);
    }
}

static void begin_script(struct js_rewriter *r, unsigned names)
{
    put_text(r, "var " ASSIGN " = " ASSIGN_BODY " " POST_MESSAGE " ");
    if (r->facts.export_count && !r->opts->is_attribute)
        put_text(r, "var " EXPORT " = function(name, get, set) { try { "
                    "Object.defineProperty(self, name, {configurable: true, "
                    "get: get, set: set}); } catch (e) {} }; ");
    put_text(r, "{ ");
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++)
        if (names & 1u << i)
            put_stand_in(r, "let", i);
    put_text(r, "let arguments; { ");
    put_exports(r);
}

/* Imports are read-only: names that are assigned to become variables. */
static void begin_module(struct js_rewriter *r, unsigned names)
{
    put_text(r, "import { " ASSIGN);
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++)
        if (names & ~r->facts.assigned & 1u << i) {
            put_text(r, ", ");
            put_text(r, stand_ins[i]);
        }
    put_text(r, " } from \"");
    put_text(r, r->opts->module_url);
    put_text(r, "\"; ");
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++)
        if (names & r->facts.assigned & 1u << i)
            put_stand_in(r, "var", i);
}

/* --- the second pass ----------------------------------------------------- */

/* Write the script up to @t, which is left out if @replaced. */
static void
copy_to(struct js_rewriter *r, const struct js_token *t, bool replaced)
{
    size_t at = (size_t)(t->bytes.data - r->scanner.js.data);
    byte_sink_put(r->out, slice_sub(r->scanner.js, r->copied, at));
    r->copied = replaced ? at + t->bytes.len : at;
}

/* The address that a module imports; a bare name is none. */
static void put_import(struct js_rewriter *r, const struct js_token *t)
{
    struct slice url = slice_sub(t->bytes, 1, t->bytes.len - 1);
    copy_to(r, t, false);
    if (!begins_with(url, "/") && !begins_with(url, "./") &&
        !begins_with(url, "../") && !begins_with(url, "http:") &&
        !begins_with(url, "https:"))
        return;
    buf_append_byte(&r->out->pending, t->bytes.data[0]);
    link_rewrite(r->opts->links, url, REPLAY_MOD_ESM, &r->out->pending);
    buf_append_byte(&r->out->pending, t->bytes.data[0]);
    byte_sink_check(r->out);
    r->copied += t->bytes.len;
}

static void put_location(struct js_rewriter *r, const struct js_token *t)
{
    copy_to(r, t, false);
    byte_sink_put(r->out, t->bytes);
    r->copied += t->bytes.len;
    put_text(r, "((globalThis.__WB_check_loc && "
                "globalThis.__WB_check_loc(location, ");
    put_text(r, r->location_plain ? "[]" : "arguments");
    put_text(r, ")) || {}).maybeHref =");
}

static void put_changed(struct js_rewriter *r,
                        const struct js_token *t,
                        enum js_change change)
{
    switch (change) {
    case JS_SAME: break;
    case JS_THIS:
        copy_to(r, t, true);
        put_text(r, CHECK "(this)");
        break;
    case JS_LOCATION:
        r->awaits_assign = true;
        r->location_plain = !js_frame_of(&r->scanner)->has_arguments;
        break;
    case JS_EVAL_CALL:
        copy_to(r, t, true);
        put_text(r, "WB_wombat_runEval2((_______eval_arg, isGlobal) => { var "
                    "ge = eval; return isGlobal ? ge(_______eval_arg) : "
                    "eval(_______eval_arg); }).eval(this, (function() { return "
                    "arguments })(),");
        /* The script's own bracket is left out. */
        r->copied += (size_t)(js_ahead(&r->scanner).data + 1 -
                              (t->bytes.data + t->bytes.len));
        break;
    case JS_EVAL_VALUE:
        copy_to(r, t, false);
        put_text(r, "globalThis.");
        break;
    case JS_POST_MESSAGE:
        copy_to(r, t, false);
        put_text(r, "__WB_pmw(globalThis).");
        break;
    case JS_IMPORT_CALL:
        copy_to(r, t, true);
        put_text(r, "____wb_rewrite_import__");
        break;
    case JS_IMPORT_FROM: put_import(r, t); break;
    }
}

static void put_script(struct js_rewriter *r, struct slice js)
{
    struct js_token t;
    bool opens_import = false;
    js_scanner_init(&r->scanner, js, r->facts.is_module);
    while (r->out->rc == 0 && js_token_next(&r->scanner, &t)) {
        enum js_change change = change_of(r, &t);
        if (r->awaits_assign)
            put_location(r, &t);
        r->awaits_assign = false;
        put_changed(r, &t, change);
        if (opens_import) { /* The "(" behind it. */
            copy_to(r, &t, false);
            byte_sink_put(r->out, t.bytes);
            r->copied += t.bytes.len;
            put_text(r, r->facts.is_module ? "import.meta.url, " : "null, ");
        }
        opens_import = change == JS_IMPORT_CALL;
    }
    byte_sink_put(r->out, slice_sub(js, r->copied, js.len));
    js_scanner_close(&r->scanner);
}

bool js_is_type(struct slice type)
{
    static const char *const names[] = {"javascript", "x-javascript",
                                        "ecmascript", "x-ecmascript",
                                        "jscript",    "livescript"};
    size_t slash = slice_find_byte(type, '/');
    struct slice kind = slice_sub(type, 0, slash);
    struct slice name = slice_sub(type, slash + 1, type.len);
    if (!http_slice_is(kind, "text") && !http_slice_is(kind, "application"))
        return false;
    /* text/javascript1.5 */
    while (name.len && strchr("0123456789.", name.data[name.len - 1]))
        name = slice_sub(name, 0, name.len - 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (http_slice_is(name, names[i]))
            return true;
    return false;
}

bool js_rewrite(const struct js_rewrite_options *opts,
                struct slice js,
                struct byte_sink *out)
{
    struct js_rewriter r = {
        .opts = opts, .facts = {.is_module = opts->is_module}, .out = out};
    bool changes = opts->links->prefix && find_facts(&r, js);
    unsigned names = r.facts.used & ~r.facts.declared;
    bool wraps = names || r.facts.has_location;
    if (!changes) {
        byte_sink_put(out, js);
    } else if (r.facts.is_module) {
        if (names)
            begin_module(&r, names);
        put_script(&r, js);
    } else {
        if (wraps)
            begin_script(&r, names);
        put_script(&r, js);
        if (wraps)
            put_text(&r, opts->is_attribute ? " }}" : "\n}}");
    }
    mem_free(r.facts.exports);
    return changes;
}
