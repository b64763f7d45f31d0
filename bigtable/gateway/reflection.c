/* grpc.reflection.v1.ServerReflection, and v1alpha, which is the same under
 * another name: tools ask which services are here and what their methods take.
 * The answers are the descriptors that protoc made of the .proto files, found
 * by walking over them: a question is rare, and an index would be code for
 * nothing.
 */
#include "bigtable/gateway/api_descriptors.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"

/* --- descriptors --------------------------------------------------------- */

/* Field numbers of google/protobuf/descriptor.proto, the schema of the schemas,
 * which is not among our .proto files. */
enum {
    FILE_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6,
    MESSAGE_MESSAGE = 3,
    MESSAGE_ENUM = 4,
    SERVICE_METHOD = 2,
    ANY_NAME = 1, /* Of all of these messages. */
};

/* Declarations of messages are nested no deeper than this. */
#define NESTED_MAX 8

/* Remove @name and a dot from the beginning of *@symbol. True also if *@symbol
 * is @name, and becomes empty. */
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

/* Does one of the declarations in field @number of @in have the name @symbol?
 */
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

/* --- answers ------------------------------------------------------------- */

static void put_services(struct buf *out)
{
    size_t all =
        pb_open(out, PB_ServerReflectionResponse_list_services_response);
    struct slice last = SLICE_EMPTY;
    size_t count;
    const struct grpc_method *methods = gateway_methods(&count);
    for (size_t i = 0; i < count; i++) {
        struct slice name = gateway_service_of(&methods[i]);
        size_t one;
        if (slice_eq(name, last))
            continue;
        one = pb_open(out, PB_ListServiceResponse_service);
        pb_put_bytes(out, PB_ServiceResponse_name, name);
        pb_close(out, one);
        last = name;
    }
    pb_close(out, all);
}

static void put_error(struct buf *out, enum grpc_code code, const char *text)
{
    size_t error = pb_open(out, PB_ServerReflectionResponse_error_response);
    pb_put_integer(out, PB_ErrorResponse_error_code, (int64_t)code);
    pb_put_bytes(out, PB_ErrorResponse_error_message, slice_str(text));
    pb_close(out, error);
}

static void put_file(struct buf *out, struct slice file)
{
    size_t files;
    if (file.len == 0) {
        put_error(out, GRPC_NOT_FOUND, "nothing here has this name");
        return;
    }
    files = pb_open(out, PB_ServerReflectionResponse_file_descriptor_response);
    pb_put_bytes(out, PB_FileDescriptorResponse_file_descriptor_proto, file);
    pb_close(out, files);
}

static void
put_answer(const struct pb_field *asked, struct slice request, struct buf *out)
{
    pb_put_bytes(out, PB_ServerReflectionResponse_valid_host,
                 pb_find(request, PB_ServerReflectionRequest_host));
    pb_put_bytes(out, PB_ServerReflectionResponse_original_request, request);
    switch (asked->number) {
    case PB_ServerReflectionRequest_file_by_filename:
        put_file(out, find_file(file_is_named, asked->bytes));
        break;
    case PB_ServerReflectionRequest_file_containing_symbol:
        put_file(out, find_file(file_declares, asked->bytes));
        break;
    case PB_ServerReflectionRequest_list_services: put_services(out); break;
    case PB_ServerReflectionRequest_file_containing_extension:
    case PB_ServerReflectionRequest_all_extension_numbers_of_type:
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
    while (pb_next(&in, &f)) /* The last field of a oneof counts. */
        if (f.number >= PB_ServerReflectionRequest_file_by_filename &&
            f.wire == PB_BYTES)
            asked = f;
    put_answer(&asked, request, out);
    return 0;
}
