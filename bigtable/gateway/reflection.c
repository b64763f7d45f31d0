/* grpc.reflection.v1.ServerReflection, and v1alpha, which is the same under
 * another name: which services are here, and what their methods take, for tools
 * that ask. */
#include "bigtable/gateway/descriptors.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/service.h"

/* ServerReflectionRequest, and the numbers of its answers. */
enum {
    ASK_FILE = 3,
    ASK_SYMBOL = 4,
    ASK_EXTENSION = 5,
    ASK_EXTENSION_NUMBERS = 6,
    ASK_SERVICES = 7,
};

enum {
    ANSWER_HOST = 1,
    ANSWER_REQUEST = 2,
    ANSWER_FILES = 4,
    ANSWER_SERVICES = 6,
    ANSWER_ERROR = 7,
};

static const char *const services[] = {
    "google.bigtable.admin.v2.BigtableInstanceAdmin",
    "google.bigtable.admin.v2.BigtableTableAdmin",
    "google.bigtable.v2.Bigtable",
    "google.longrunning.Operations",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
};

/* --- descriptors ---------------------------------------------------------- */

/* Numbers of their fields. */
enum {
    FILE_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6,
    MESSAGE_MESSAGE = 3,
    MESSAGE_ENUM = 4,
    SERVICE_METHOD = 2,
    ANY_NAME = 1, /* Of each of them. */
};

/* Messages lie in messages: no deeper than this. */
#define NESTED_MAX 8

/* Take @name and a dot off the beginning of *@symbol; true also if it is all
 * there is, which leaves nothing. */
static bool take_name(struct slice *symbol, struct slice name)
{
    if (!slice_starts_with(*symbol, name))
        return false;
    if (symbol->len > name.len && symbol->data[name.len] != '.')
        return false;
    *symbol =
        slice_sub(*symbol, MIN_OF(name.len + 1, symbol->len), symbol->len);
    return true;
}

/* Is @symbol the name of one of the fields @number of @in? */
static bool names_one(struct slice in, unsigned number, struct slice symbol)
{
    struct cursor c = cursor_make(in);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, number) &&
            slice_eq(pb_find(f.bytes, ANY_NAME), symbol))
            return true;
    return false;
}

static bool message_declares(struct slice message, struct slice symbol)
{
    for (unsigned depth = 0; depth < NESTED_MAX; depth++) {
        struct cursor c = cursor_make(message);
        struct slice inner = SLICE_EMPTY;
        struct slice rest = symbol;
        struct pb_field f;
        if (symbol.len == 0 || names_one(message, MESSAGE_ENUM, symbol))
            return true;
        while (inner.len == 0 && pb_next(&c, &f))
            if (pb_is_bytes(&f, MESSAGE_MESSAGE) &&
                take_name(&rest, pb_find(f.bytes, ANY_NAME)))
                inner = f.bytes;
        if (inner.len == 0)
            return false;
        message = inner;
        symbol = rest;
    }
    return false;
}

static bool part_declares(const struct pb_field *part, struct slice symbol)
{
    if (part->wire != PB_BYTES ||
        (part->number != FILE_MESSAGE && part->number != FILE_ENUM &&
         part->number != FILE_SERVICE) ||
        !take_name(&symbol, pb_find(part->bytes, ANY_NAME)))
        return false;
    if (part->number == FILE_MESSAGE)
        return message_declares(part->bytes, symbol);
    return symbol.len == 0 || (part->number == FILE_SERVICE &&
                               names_one(part->bytes, SERVICE_METHOD, symbol));
}

static bool file_declares(struct slice file, struct slice symbol)
{
    struct cursor c = cursor_make(file);
    struct pb_field f;
    if (!take_name(&symbol, pb_find(file, FILE_PACKAGE)) || symbol.len == 0)
        return false;
    while (pb_next(&c, &f))
        if (part_declares(&f, symbol))
            return true;
    return false;
}

static bool file_is_named(struct slice file, struct slice name)
{
    return slice_eq(pb_find(file, FILE_NAME), name);
}

/* The first file of which @fits is true; empty: none. */
static struct slice find_file(bool (*fits)(struct slice file, struct slice key),
                              struct slice key)
{
    struct cursor c = cursor_make(descriptors_all());
    struct pb_field f;
    while (pb_next(&c, &f))
        if (fits(f.bytes, key))
            return f.bytes;
    return SLICE_EMPTY;
}

/* --- answers -------------------------------------------------------------- */

static void put_text(struct buf *out, unsigned number, const char *text)
{
    pb_put_bytes(out, number, slice_str(text));
}

static void put_services(struct buf *out)
{
    size_t all = pb_open(out, ANSWER_SERVICES);
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        size_t one = pb_open(out, 1);
        put_text(out, 1, services[i]);
        pb_close(out, one);
    }
    pb_close(out, all);
}

static void put_error(struct buf *out, enum grpc_code code, const char *text)
{
    size_t error = pb_open(out, ANSWER_ERROR);
    pb_put_integer(out, 1, (int64_t)code);
    put_text(out, 2, text);
    pb_close(out, error);
}

static void put_file(struct buf *out, struct slice file)
{
    size_t files;
    if (file.len == 0) {
        put_error(out, GRPC_NOT_FOUND, "nothing here has this name");
        return;
    }
    files = pb_open(out, ANSWER_FILES);
    pb_put_bytes(out, 1, file);
    pb_close(out, files);
}

static void
put_answer(const struct pb_field *asked, struct slice request, struct buf *out)
{
    pb_put_bytes(out, ANSWER_HOST, pb_find(request, 1));
    pb_put_bytes(out, ANSWER_REQUEST, request);
    switch (asked->number) {
    case ASK_FILE: put_file(out, find_file(file_is_named, asked->bytes)); break;
    case ASK_SYMBOL:
        put_file(out, find_file(file_declares, asked->bytes));
        break;
    case ASK_SERVICES: put_services(out); break;
    case ASK_EXTENSION:
    case ASK_EXTENSION_NUMBERS:
        put_error(out, GRPC_NOT_FOUND, "no message here has extensions");
        break;
    default: put_error(out, GRPC_UNIMPLEMENTED, "no such question"); break;
    }
}

int reflection_answer(void *ctx,
                      struct slice request,
                      struct buf *out,
                      struct err *err)
{
    struct cursor in = cursor_make(request);
    struct pb_field asked = {.number = 0};
    struct pb_field f;
    (void)ctx;
    if (!pb_is_message(request))
        return service_bad_request(err);
    while (pb_next(&in, &f)) /* Of a oneof the last one counts. */
        if (f.number >= ASK_FILE && f.wire == PB_BYTES)
            asked = f;
    put_answer(&asked, request, out);
    return 0;
}
