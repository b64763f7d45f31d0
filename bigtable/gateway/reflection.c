/* grpc.reflection.v1.ServerReflection, and v1alpha, which is the same under
 * another name: which services are here, for tools that ask. Descriptors are
 * those of the health service; those of the Bigtable API are public files,
 * which such tools are given (google/bigtable/v2/bigtable.proto). */
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

/* FieldDescriptorProto.Label and Type. */
enum {
    LABEL_OPTIONAL = 1,
    TYPE_STRING = 9,
    TYPE_ENUM = 14,
};

#define HEALTH "grpc.health.v1.Health"

static const char *const services[] = {
    "google.bigtable.admin.v2.BigtableInstanceAdmin",
    "google.bigtable.admin.v2.BigtableTableAdmin",
    "google.bigtable.v2.Bigtable",
    "google.longrunning.Operations",
    HEALTH,
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
};

/* What is said of the file below. */
static const char *const health_symbols[] = {
    HEALTH,
    HEALTH ".Check",
    HEALTH ".Watch",
    "grpc.health.v1.HealthCheckRequest",
    "grpc.health.v1.HealthCheckResponse",
    "grpc.health.v1.HealthCheckResponse.ServingStatus",
};

/* --- grpc/health/v1/health.proto ------------------------------------------ */

static void put_text(struct buf *out, unsigned number, const char *text)
{
    pb_put_bytes(out, number, slice_str(text));
}

/* FieldDescriptorProto {name 1, number 3, label 4, type 5, type_name 6, json
 * 10} as field 2 of a message; @type_name may be NULL. */
static void
put_field(struct buf *out, const char *name, int type, const char *type_name)
{
    size_t field = pb_open(out, 2);
    put_text(out, 1, name);
    pb_put_integer(out, 3, 1);
    pb_put_integer(out, 4, LABEL_OPTIONAL);
    pb_put_integer(out, 5, type);
    if (type_name)
        put_text(out, 6, type_name);
    put_text(out, 10, name);
    pb_close(out, field);
}

/* EnumDescriptorProto {name 1, value 2} of EnumValueDescriptorProto {name 1,
 * number 2}, as field 4 of a message. */
static void put_statuses(struct buf *out)
{
    static const char *const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING",
                                        "SERVICE_UNKNOWN"};
    size_t all = pb_open(out, 4);
    put_text(out, 1, "ServingStatus");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t value = pb_open(out, 2);
        put_text(out, 1, names[i]);
        pb_put_integer(out, 2, (int64_t)i);
        pb_close(out, value);
    }
    pb_close(out, all);
}

/* MethodDescriptorProto {name 1, input 2, output 3, server_streaming 6} as
 * field 2 of a service. */
static void put_method(struct buf *out, const char *name, bool streams)
{
    size_t method = pb_open(out, 2);
    put_text(out, 1, name);
    put_text(out, 2, ".grpc.health.v1.HealthCheckRequest");
    put_text(out, 3, ".grpc.health.v1.HealthCheckResponse");
    if (streams)
        pb_put_integer(out, 6, 1);
    pb_close(out, method);
}

/* FileDescriptorProto {name 1, package 2, message_type 4, service 6, syntax 12}
 */
static void put_health_file(struct buf *out)
{
    size_t part;
    put_text(out, 1, "grpc/health/v1/health.proto");
    put_text(out, 2, "grpc.health.v1");
    part = pb_open(out, 4);
    put_text(out, 1, "HealthCheckRequest");
    put_field(out, "service", TYPE_STRING, NULL);
    pb_close(out, part);
    part = pb_open(out, 4);
    put_text(out, 1, "HealthCheckResponse");
    put_field(out, "status", TYPE_ENUM,
              ".grpc.health.v1.HealthCheckResponse.ServingStatus");
    put_statuses(out);
    pb_close(out, part);
    part = pb_open(out, 6);
    put_text(out, 1, "Health");
    put_method(out, "Check", false);
    put_method(out, "Watch", true);
    pb_close(out, part);
    put_text(out, 12, "proto3");
}

/* --- answers -------------------------------------------------------------- */

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

static void put_file(struct buf *out, bool known)
{
    size_t files;
    size_t file;
    if (!known) {
        put_error(out, GRPC_NOT_FOUND,
                  "its descriptor is not here: use the published files of the "
                  "API (google/bigtable/v2/bigtable.proto)");
        return;
    }
    files = pb_open(out, ANSWER_FILES);
    file = pb_open(out, 1);
    put_health_file(out);
    pb_close(out, file);
    pb_close(out, files);
}

static bool is_symbol(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(health_symbols); i++)
        if (slice_eq_str(name, health_symbols[i]))
            return true;
    return false;
}

static void
put_answer(const struct pb_field *asked, struct slice request, struct buf *out)
{
    pb_put_bytes(out, ANSWER_HOST, pb_find(request, 1));
    pb_put_bytes(out, ANSWER_REQUEST, request);
    switch (asked->number) {
    case ASK_FILE:
        put_file(out,
                 slice_eq_str(asked->bytes, "grpc/health/v1/health.proto"));
        break;
    case ASK_SYMBOL: put_file(out, is_symbol(asked->bytes)); break;
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
