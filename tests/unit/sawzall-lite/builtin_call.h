/* Calling an intrinsic function from a test, without a compiler or a machine.
 */
#ifndef TESTS_UNIT_SAWZALL_LITE_BUILTIN_CALL_H
#define TESTS_UNIT_SAWZALL_LITE_BUILTIN_CALL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "sawzall-lite/values/builtin.h"
#include "sawzall-lite/values/value_text.h"
#include "tests/lib/check_main.h"

struct arg {
    const struct saw_type *type;
    union saw_slot v;
};

struct host {
    struct arena arena;
    struct saw_ctx ctx;
    struct buf text;
    enum saw_status status; /* Of the last call. */
};

static inline int64_t host_now(void *ctx)
{
    (void)ctx;
    return 1234567890123456;
}

/* The system's files, for time zones. */
static inline int
host_read(void *ctx, struct slice path, struct buf *out, struct err *err)
{
    char name[300];
    FILE *f;
    int c;
    (void)ctx;
    snprintf(name, sizeof(name), "%.*s", SLICE_ARG(path));
    f = fopen(name, "rb");
    if (!f)
        return err_set(err, ERR_NOTFOUND, "no file %s", name);
    while ((c = fgetc(f)) != EOF)
        buf_append_byte(out, (char)c);
    fclose(f);
    return 0;
}

static inline void host_init(struct host *h)
{
    *h = (struct host){.text = BUF_INIT};
    arena_init(&h->arena);
    h->ctx.arena = &h->arena;
    h->ctx.bytes_max = SIZE_MAX;
    h->ctx.now_us = host_now;
    h->ctx.read_file = host_read;
    rand_init(&h->ctx.rand, 1);
}

static inline void host_close(struct host *h)
{
    saw_builtins_close(&h->ctx);
    buf_close(&h->ctx.scratch);
    buf_close(&h->text);
    arena_close(&h->arena);
}

static inline struct arg a_int(int64_t v)
{
    return (struct arg){&saw_type_int, {.i = v}};
}

static inline struct arg a_uint(uint64_t v)
{
    return (struct arg){&saw_type_uint, {.u = v}};
}

static inline struct arg a_time(uint64_t v)
{
    return (struct arg){&saw_type_time, {.u = v}};
}

static inline struct arg a_bool(bool v)
{
    return (struct arg){&saw_type_bool, {.i = v}};
}

static inline struct arg a_float(double v)
{
    return (struct arg){&saw_type_float, {.f = v}};
}

static inline struct arg a_bytes(struct host *h, const char *data, size_t len)
{
    struct arg a = {.type = &saw_type_bytes};
    a.v.s = saw_bytes_dup(&h->ctx, slice_make(data, len));
    return a;
}

static inline struct arg a_str(struct host *h, const char *s)
{
    struct arg a = {.type = &saw_type_string};
    a.v.s = saw_string_dup(&h->ctx, slice_str(s));
    return a;
}

static inline const struct saw_type *declared_result(const char *signature)
{
    static const struct {
        const char *suffix;
        const struct saw_type *type;
    } ends[] = {
        {"): array of string", &saw_type_array_of_string},
        {"): array of bytes", &saw_type_array_of_bytes},
        {"): array of int", &saw_type_array_of_int},
        {"): string", &saw_type_string},
        {"): bytes", &saw_type_bytes},
        {"): bool", &saw_type_bool},
        {"): float", &saw_type_float},
        {"): int", &saw_type_int},
        {"): time", &saw_type_time},
    };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (slice_ends_with(slice_str(signature), slice_str(ends[i].suffix)))
            return ends[i].type;
    }
    return &saw_type_void;
}

/* Call @name; the result as source text ("undef: why" or "fail: why" or "check:
 * why" without one), borrowed until the next call. */
static inline const char *
call_n(struct host *h, const char *name, const struct arg *args, size_t n)
{
    const struct saw_builtin *b = saw_builtin_find(slice_str(name));
    const struct saw_type *types[8];
    const union saw_slot *constants[8] = {0};
    union saw_slot slots[8];
    union saw_slot result = {.i = 0};
    struct saw_check check = {.arg_types = types,
                              .constants = constants,
                              .arg_count = n,
                              .arena = &h->arena};
    struct saw_call site = {.builtin = b, .arg_count = n, .arg_types = types};

    ck_assert_msg(b != NULL, "no function %s", name);
    for (size_t i = 0; i < n; i++) {
        types[i] = args[i].type;
        slots[i] = args[i].v;
        constants[i] = &slots[i];
    }
    buf_clear(&h->text);
    if (b->check)
        site.result_type = b->check(&check);
    if (b->check && !site.result_type) {
        buf_printf(&h->text, "check: %s", check.message);
        return buf_cstr(&h->text);
    }
    if (b->signature)
        site.result_type = declared_result(b->signature);
    if (b->prepare)
        site.prepared = b->prepare(&site, constants);
    h->status = b->fn(&h->ctx, &site, slots, &result);
    if (b->release)
        b->release(site.prepared);
    if (h->status == SAW_OK && site.result_type != &saw_type_void)
        saw_value_print(site.result_type, result, SAW_PRINT_SOURCE, &h->text);
    else if (h->status != SAW_OK)
        buf_printf(&h->text, "%s: %s",
                   h->status == SAW_UNDEF ? "undef" : "fail", h->ctx.err.text);
    return buf_cstr(&h->text);
}

#define CALL(h, name, ...)                                                     \
    call_n((h), (name), (const struct arg[]){__VA_ARGS__},                     \
           sizeof((const struct arg[]){__VA_ARGS__}) / sizeof(struct arg))

/* Convert @args[0] to @to, with what follows as further arguments. */
static inline const char *convert_n(struct host *h,
                                    const struct saw_type *to,
                                    const struct arg *args,
                                    size_t n)
{
    const struct saw_type *types[4];
    union saw_slot slots[4];
    union saw_slot result = {.i = 0};
    struct saw_call site = {
        .arg_count = n, .arg_types = types, .result_type = to};
    char message[200];
    bool may_be_undef;

    for (size_t i = 0; i < n; i++) {
        types[i] = args[i].type;
        slots[i] = args[i].v;
    }
    buf_clear(&h->text);
    if (!saw_convert_check(types[0], to, types + 1, n - 1, &may_be_undef,
                           message)) {
        buf_printf(&h->text, "check: %s", message);
        return buf_cstr(&h->text);
    }
    h->status = saw_convert(&h->ctx, &site, slots, &result);
    ck_assert(h->status != SAW_UNDEF || may_be_undef);
    if (h->status == SAW_OK)
        saw_value_print(to, result, SAW_PRINT_SOURCE, &h->text);
    else
        buf_printf(&h->text, "%s: %s",
                   h->status == SAW_UNDEF ? "undef" : "fail", h->ctx.err.text);
    return buf_cstr(&h->text);
}

#define CONVERT(h, to, ...)                                                    \
    convert_n((h), (to), (const struct arg[]){__VA_ARGS__},                    \
              sizeof((const struct arg[]){__VA_ARGS__}) / sizeof(struct arg))

#endif /* TESTS_UNIT_SAWZALL_LITE_BUILTIN_CALL_H */
