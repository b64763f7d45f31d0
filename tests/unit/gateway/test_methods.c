/* The methods that the gateway serves and those that its .proto files declare
 * are the same, so that reflection describes the server and no path is
 * misspelt. */

#include "base/core/pb.h"
#include "bigtable/gateway/api_descriptors.h"
#include "bigtable/gateway/api_service.h"
#include "tests/lib/check_main.h"

/* Field numbers of google/protobuf/descriptor.proto. */
enum {
    SET_FILE = 1,
    ANY_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_SERVICE = 6,
    SERVICE_METHOD = 2,
};

typedef void (*method_cb)(void *ctx, const char *path);

static void each_method_of_service(struct slice package,
                                   struct slice service,
                                   method_cb fn,
                                   void *ctx)
{
    struct cursor c = cursor_make(service);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        struct buf path = BUF_INIT;
        if (!pb_is_bytes(&f, SERVICE_METHOD))
            continue;
        buf_printf(&path, "/%.*s.%.*s/%.*s", SLICE_ARG(package),
                   SLICE_ARG(pb_find(service, ANY_NAME)),
                   SLICE_ARG(pb_find(f.bytes, ANY_NAME)));
        fn(ctx, buf_cstr(&path));
        buf_close(&path);
    }
}

static void each_declared_method(method_cb fn, void *ctx)
{
    struct cursor files = cursor_make(descriptors_all());
    struct pb_field file;
    while (pb_next(&files, &file)) {
        struct cursor c = cursor_make(file.bytes);
        struct pb_field f;
        ck_assert(pb_is_bytes(&file, SET_FILE));
        while (pb_next(&c, &f))
            if (pb_is_bytes(&f, FILE_SERVICE))
                each_method_of_service(pb_find(file.bytes, FILE_PACKAGE),
                                       f.bytes, fn, ctx);
    }
}

struct search {
    const char *path;
    bool found;
};

static void compare_path(void *ctx, const char *path)
{
    struct search *s = ctx;
    s->found |= strcmp(path, s->path) == 0;
}

START_TEST(test_served_methods_are_declared)
{
    size_t count;
    const struct grpc_method *methods = gateway_methods(&count);
    ck_assert_uint_gt(count, 50);
    for (size_t i = 0; i < count; i++) {
        struct search s = {.path = methods[i].path};
        each_declared_method(compare_path, &s);
        ck_assert_msg(s.found, "%s is served, but not in the .proto files",
                      s.path);
    }
}

END_TEST

static void expect_served(void *ctx, const char *path)
{
    size_t *declared = ctx;
    size_t count;
    const struct grpc_method *methods = gateway_methods(&count);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= strcmp(methods[i].path, path) == 0;
    ck_assert_msg(found, "%s is in the .proto files, but not served", path);
    ++*declared;
}

START_TEST(test_declared_methods_are_served)
{
    size_t declared = 0;
    size_t served;
    gateway_methods(&served);
    each_declared_method(expect_served, &declared);
    ck_assert_uint_eq(declared, served);
}

END_TEST

/* The server looks methods up by halving. */
START_TEST(test_methods_are_sorted)
{
    size_t count;
    const struct grpc_method *methods = gateway_methods(&count);
    for (size_t i = 1; i < count; i++)
        ck_assert_str_lt(methods[i - 1].path, methods[i].path);
}

END_TEST

TEST_MAIN("methods",
          test_served_methods_are_declared,
          test_declared_methods_are_served,
          test_methods_are_sorted)
