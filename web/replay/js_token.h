/* JavaScript in tokens, with what a rewriter must know of each: whether a name
 * is one of a property, of a declaration, or a use of a variable.
 *
 * It is no parser. Brackets are matched, and from the token before a bracket
 * follows what stands in it (a block, an object, the body of a function or of a
 * class) and whether "/" behind it divides or begins a regular expression. So
 * strings, templates, comments and expressions are told from code. A text that
 * does not come out even (a string without end, a bracket of another kind, too
 * deep) is *lost*: who rewrites leaves all of it as it is.
 *
 * The work is linear in the text, the memory bounded by JS_DEPTH_MAX frames.
 * Pure. Threads: one.
 *
 * Invariants
 *     INV-1. frames[0] is the script; depth is the index of the innermost.
 *     INV-2. Tokens follow each other without overlap; between them are only
 *            blanks and comments.
 */
#ifndef WEB_REPLAY_JS_TOKEN_H
#define WEB_REPLAY_JS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

#define JS_DEPTH_MAX 2048

enum js_kind {
    JS_NAME, /* Keywords too. */
    JS_NUMBER,
    JS_STRING,   /* With its quotes. */
    JS_TEMPLATE, /* A part: "`…`", "`…${", "}…${" or "}…`". */
    JS_REGEX,
    JS_PUNCTUATOR,
};

/* How a name is declared, in the frame that it stands in. */
enum js_binding {
    JS_BINDS_NOTHING,
    JS_BINDS_VAR,
    JS_BINDS_LEXICAL, /* let, const, class */
    JS_BINDS_FUNCTION,
    JS_BINDS_SPECIAL_FUNCTION, /* async, generator: never hoisted from a block.
                                */
    JS_BINDS_IMPORT,
};

struct js_token {
    enum js_kind kind;
    struct slice bytes;
    enum js_binding binding; /* Of a name. */
    bool is_property;        /* A name behind a dot. */
    bool is_key;             /* A name of a member: {a: 1}, class { a() {} } */
    bool is_after_line;      /* A line ended before it. */
    bool is_top;             /* It binds a name of the script's outermost block,
                                or, by var, could. */
};

enum js_role {
    JS_BLOCK,
    JS_OBJECT, /* A literal or a pattern. */
    JS_FUNCTION,
    JS_ARROW, /* The body of an arrow function. */
    JS_CLASS,
    JS_CONTROL, /* "if (" and the like */
    JS_GROUP,   /* Other parentheses. */
    JS_ARRAY,
    JS_PART, /* "${" of a template */
};

/* A bracket that is open around the next token. */
struct js_frame {
    uint8_t role;        /* enum js_role */
    uint8_t declares;    /* enum js_binding: of a var or let that is not over */
    bool is_value;       /* An operator stands behind its end, no operand. */
    bool expects_name;   /* The next name or pattern is declared. */
    bool is_pattern;     /* [a, b] or {a, b} on the left of a declaration */
    bool is_default;     /* In it, behind "=". */
    bool is_top;         /* The declaration stands in no block. */
    bool has_class;      /* "class" was read and its body is to come, */
    bool class_is_value; /* in an expression. */
    bool has_function;   /* "function" was read, its parameters are to come, */
    bool function_value; /* in an expression, */
    bool is_special;     /* async or with a star. */
    bool has_arguments;  /* The name `arguments` may be used. */
    uint32_t ternaries;  /* "?" without their ":" */
};

struct js_scanner {
    struct slice js; /* Borrowed. */
    size_t at;
    bool is_module;
    bool is_lost;
    struct js_frame *frames; /* Owned. */
    size_t depth;
    size_t cap;
    size_t functions;       /* Frames that are bodies of functions. */
    struct js_token last;   /* The token before. */
    struct js_token before; /* And the one before that. */
    struct js_frame closed; /* By the last closing bracket. */
    bool has_last;
    bool is_import;        /* Between "import" and the string behind it. */
    bool colon_is_ternary; /* The last ":" */
};

void js_scanner_init(struct js_scanner *s, struct slice js, bool is_module);
void js_scanner_close(struct js_scanner *s);

/* The next token; false at the end, and where the text is lost. */
bool js_token_next(struct js_scanner *s, struct js_token *out);
/* The innermost frame: what the token that was given last left open. Borrowed.
 */
struct js_frame *js_frame_of(const struct js_scanner *s);
/* The text behind the blanks and comments after the last token; "" at the
 * end. */
struct slice js_ahead(const struct js_scanner *s);
/* Is @t the keyword, name or punctuator @text? */
bool js_token_is(const struct js_token *t, const char *text);

#endif /* WEB_REPLAY_JS_TOKEN_H */
