/* Intrinsics that reach outside of the program: files, the environment,
 * randomness, and inputs that a host or another function added to the record.
 *
 * They go through hooks of the run's options, and `restricted` programs are
 * refused all of them when they are compiled. Random numbers are drawn from
 * the record, so a retried record draws the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"

/* --- files and environment ----------------------------------------------- */

static enum saw_status fn_load(struct saw_ctx *ctx,
                               const struct saw_call *call,
                               const union saw_slot *args,
                               union saw_slot *result)
{
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;
    (void)call;
    if (!ctx->read_file || ctx->restricted)
        return saw_undef(ctx, "file reads are disallowed in this context");
    rc = ctx->read_file(ctx->hook_ctx, saw_str_slice(args[0].s), &text, &err);
    if (rc == 0)
        result->s = saw_bytes_dup(ctx, buf_slice(&text));
    buf_close(&text);
    if (rc != 0)
        return saw_undef(ctx, "%s", err.text);
    return result->s ? SAW_OK : SAW_FAIL;
}

static enum saw_status fn_getenv(struct saw_ctx *ctx,
                                 const struct saw_call *call,
                                 const union saw_slot *args,
                                 union saw_slot *result)
{
    struct slice name = saw_str_slice(args[0].s);
    char *key = mem_strndup(name.data, name.len);
    const char *value = ctx->restricted ? NULL : getenv(key);
    struct slice s = value ? slice_str(value) : SLICE_EMPTY;
    size_t chars;

    (void)call;
    mem_free(key);
    if (!value)
        return saw_undef(ctx, "getenv: environment variable \"%.*s\" undefined",
                         SLICE_ARG(slice_sub(name, 0, 100)));
    if (!saw_utf8_check(s, &chars))
        return saw_undef(ctx, "getenv: \"%.*s\" is not valid UTF-8",
                         SLICE_ARG(slice_sub(name, 0, 100)));
    return saw_give_text(saw_string_dup(ctx, s), result);
}

/* --- randomness ---------------------------------------------------------- */

static enum saw_status fn_rand(struct saw_ctx *ctx,
                               const struct saw_call *call,
                               const union saw_slot *args,
                               union saw_slot *result)
{
    (void)call;
    (void)args;
    do {
        result->f = rand_double(&ctx->rand);
    } while (!(result->f > 0));
    return SAW_OK;
}

static enum saw_status fn_nrand(struct saw_ctx *ctx,
                                const struct saw_call *call,
                                const union saw_slot *args,
                                union saw_slot *result)
{
    (void)call;
    if (args[0].i <= 0)
        return saw_undef(ctx, "nrand() argument %lld <= 0; must be positive",
                         (long long)args[0].i);
    result->u = rand_below(&ctx->rand, args[0].u);
    return SAW_OK;
}

/* --- additional inputs --------------------------------------------------- */

/* Kept with the run; they outlive the record that set them. */
struct saw_input {
    struct saw_input *next;
    char *label;
    size_t label_len;
    char *value;
    size_t value_len;
};

void saw_inputs_free(struct saw_input *i)
{
    while (i) {
        struct saw_input *next = i->next;
        mem_free(i->label);
        mem_free(i->value);
        mem_free(i);
        i = next;
    }
}

static struct saw_input *find_input(struct saw_ctx *ctx, struct slice label)
{
    struct saw_input *i = saw_extra_of(ctx)->inputs;
    while (i && !slice_eq(slice_make(i->label, i->label_len), label))
        i = i->next;
    return i;
}

static enum saw_status fn_getadditionalinput(struct saw_ctx *ctx,
                                             const struct saw_call *call,
                                             const union saw_slot *args,
                                             union saw_slot *result)
{
    const struct saw_input *i = find_input(ctx, saw_str_slice(args[0].s));
    (void)call;
    return saw_give_text(
        saw_bytes_dup(ctx,
                      i ? slice_make(i->value, i->value_len) : SLICE_EMPTY),
        result);
}

static enum saw_status fn_setadditionalinput(struct saw_ctx *ctx,
                                             const struct saw_call *call,
                                             const union saw_slot *args,
                                             union saw_slot *result)
{
    struct saw_extra *x = saw_extra_of(ctx);
    struct slice label = saw_str_slice(args[0].s);
    struct slice value = saw_str_slice(args[1].s);
    struct saw_input *i = find_input(ctx, label);

    (void)call;
    (void)result;
    if (x->inputs_locked)
        return SAW_OK; /* As in the published interpreter: no effect. */
    if (!i) {
        i = mem_zalloc(1, sizeof(*i));
        i->label = mem_strndup(label.data, label.len);
        i->label_len = label.len;
        i->next = x->inputs;
        x->inputs = i;
    }
    mem_free(i->value);
    i->value = mem_strndup(value.data, value.len);
    i->value_len = value.len;
    return SAW_OK;
}

static enum saw_status fn_lockadditionalinput(struct saw_ctx *ctx,
                                              const struct saw_call *call,
                                              const union saw_slot *args,
                                              union saw_slot *result)
{
    (void)call;
    (void)args;
    (void)result;
    saw_extra_of(ctx)->inputs_locked = true;
    return SAW_OK;
}

/* --- databases ----------------------------------------------------------- */

static enum saw_status fn_no_database(struct saw_ctx *ctx,
                                      const struct saw_call *call,
                                      const union saw_slot *args,
                                      union saw_slot *result)
{
    (void)args;
    (void)result;
    return saw_undef(ctx, "%s: no SQL database is connected",
                     call->builtin->name);
}

/* --- resources ----------------------------------------------------------- */

static const char *const resource_names[] = {
    "initializedavailablemem",
    "initializedallocatedmem",
    "initializedusertime",
    "initializedsystemtime",
    "availablemem",
    "allocatedmem",
    "usertime",
    "systemtime",
};

static bool is_time(size_t field)
{
    return field % 4 >= 2;
}

static const struct saw_type *check_resources(struct saw_check *c)
{
    struct saw_field *fields =
        arena_zalloc(c->arena, ARRAY_LEN(resource_names) * sizeof(*fields));
    struct saw_type *t = arena_zalloc(c->arena, sizeof(*t));
    if (c->arg_count != 0)
        return saw_check_fail(c, -1, "getresourcestats() takes nothing");
    for (size_t i = 0; i < ARRAY_LEN(resource_names); i++) {
        fields[i].name = slice_str(resource_names[i]);
        fields[i].type = is_time(i) ? &saw_type_time : &saw_type_int;
    }
    t->kind = SAW_TUPLE;
    t->fields = fields;
    t->field_count = ARRAY_LEN(resource_names);
    return t;
}

/* Memory of the record; processor time is not known to the language. */
static enum saw_status fn_resources(struct saw_ctx *ctx,
                                    const struct saw_call *call,
                                    const union saw_slot *args,
                                    union saw_slot *result)
{
    struct saw_tuple *t = saw_tuple_new(ctx, call->result_type);
    (void)args;
    if (!t)
        return SAW_FAIL;
    for (size_t i = 0; i < ARRAY_LEN(resource_names); i++)
        t->fields[i].i = 0;
    t->fields[4].i = (int64_t)ctx->arena->reserved_bytes;
    t->fields[5].i = (int64_t)ctx->arena->bytes;
    result->t = t;
    return SAW_OK;
}

const struct saw_builtin saw_builtins_outside[] = {
    {.name = "load",
     .signature = "function(variable: string): bytes",
     .args_min = 1,
     .flags = SAW_BUILTIN_UNDEF | SAW_BUILTIN_OUTSIDE,
     .fn = fn_load,
     .help = "load(path): the contents of a file"},
    {.name = "getenv",
     .signature = "function(s: string): string",
     .args_min = 1,
     .flags = SAW_BUILTIN_UNDEF | SAW_BUILTIN_OUTSIDE,
     .fn = fn_getenv,
     .help = "getenv(name): a variable of the environment"},
    {.name = "rand",
     .signature = "function(): float",
     .flags = SAW_BUILTIN_RANDOM,
     .fn = fn_rand,
     .help = "rand(): a random number between 0 and 1"},
    {.name = "nrand",
     .signature = "function(n: int): int",
     .args_min = 1,
     .flags = SAW_BUILTIN_UNDEF | SAW_BUILTIN_RANDOM,
     .fn = fn_nrand,
     .help = "nrand(n): a random int from 0 to n - 1"},
    {.name = "getadditionalinput",
     .signature = "function(variable: string): bytes",
     .args_min = 1,
     .fn = fn_getadditionalinput,
     .help = "getadditionalinput(label): bytes kept beside the input"},
    {.name = "setadditionalinput",
     .signature = "function(label: string, value: bytes)",
     .args_min = 2,
     .flags = SAW_BUILTIN_STATEFUL,
     .fn = fn_setadditionalinput,
     .help = "setadditionalinput(label, b): keep bytes beside the input"},
    {.name = "lockadditionalinput",
     .signature = "function()",
     .flags = SAW_BUILTIN_STATEFUL,
     .fn = fn_lockadditionalinput,
     .help = "lockadditionalinput(): no setadditionalinput() after this"},
    {.name = "dbconnect",
     .signature = "function(dbspec: string, defaultspec: string): int",
     .args_min = 2,
     .flags = SAW_BUILTIN_UNDEF | SAW_BUILTIN_OUTSIDE,
     .fn = fn_no_database,
     .help = "dbconnect(spec, default): undefined, there is no database"},
    {.name = "dbquery",
     .signature = "function(db: int, query: string): array of array of string",
     .args_min = 2,
     .flags = SAW_BUILTIN_UNDEF | SAW_BUILTIN_OUTSIDE,
     .fn = fn_no_database,
     .help = "dbquery(db, query): undefined, there is no database"},
    {.name = "getresourcestats",
     .flags = SAW_BUILTIN_MOMENT,
     .fn = fn_resources,
     .check = check_resources,
     .help = "getresourcestats(): memory used by the record"},
    {.name = NULL},
};
