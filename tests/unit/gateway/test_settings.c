/* Every field of every settings message: what a client sets comes back, what
 * the service alone sets is ignored, and the rest is refused by its name.
 * Nothing is accepted and dropped. */
#include "tests/unit/gateway/fixture.h"

#define INSTANCES  "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define CLUSTER    INSTANCE "/clusters/c"
#define UNKNOWN    999
#define IGNORED    (-1) /* Accepted, and set by the service. */
#define KEPT       GRPC_OK
#define BYTES(...) __VA_ARGS__, sizeof(__VA_ARGS__) - 1

/* --- Helpers ------------------------------------------------------------- */

/* A field as it is sent: its number and its content; `text` NULL: an integer.
 */
struct sent {
    const char *name;
    unsigned number;
    const char *text;
    size_t len;
    int64_t integer;
    int expected; /* KEPT, IGNORED or the code it is refused with. */
};

#define MESSAGE(name, number, expected, bytes)                                 \
    {                                                                          \
        name, number, bytes, sizeof(bytes) - 1, 0, expected                    \
    }
#define INTEGER(name, number, expected, value)                                 \
    {                                                                          \
        name, number, NULL, 0, value, expected                                 \
    }

static void put_field(struct buf *b, const struct sent *f)
{
    if (f->text)
        pb_put_bytes(b, f->number, slice_make(f->text, f->len));
    else
        pb_put_integer(b, f->number, f->integer);
}

/* Is @f in @message, as it was sent? */
static bool has_field(struct slice message, const struct sent *f)
{
    struct cursor c = cursor_make(message);
    struct pb_field is;
    while (pb_next(&c, &is)) {
        if (is.number != f->number)
            continue;
        if (f->text ? slice_eq(is.bytes, slice_make(f->text, f->len))
                    : is.integer == (uint64_t)f->integer)
            return true;
    }
    return false;
}

static struct slice reply_message(void)
{
    struct slice message;
    size_t at = 0;
    ck_assert(grpc_reply_next(&reply, &at, &message));
    return message;
}

/* The response in the reply, an Operation that is done. */
static struct slice operation_response(void)
{
    struct slice operation = reply_message();
    ck_assert_uint_eq(pb_find_integer(operation, 3), 1);
    return pb_find(pb_find(operation, 5), 2);
}

/* Make @parent's @id (fields 1, 2) with @message in field 3. */
static int create(const char *method,
                  const char *parent,
                  const char *id,
                  const struct buf *message)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, slice_str(parent));
    pb_put_bytes(&b, 2, slice_str(id));
    pb_put_bytes(&b, 3, buf_slice(message));
    return call(method, &b);
}

/* Update @name by @f under the mask @path. */
static int update(const char *method,
                  const char *name,
                  const struct sent *f,
                  const char *path)
{
    struct buf b = BUF_INIT;
    size_t opened = pb_open(&b, 1);
    pb_put_bytes(&b, 1, slice_str(name));
    if (f)
        put_field(&b, f);
    pb_close(&b, opened);
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 1, slice_str(path));
    pb_close(&b, opened);
    return call(method, &b);
}

/* A kind of resource and what each of its fields does. */
struct kind {
    const char *name;
    const char *create; /* Method, of parent 1, id 2, resource 3. */
    const char *parent;
    const char *get;
    const char *drop;
    const char *resource; /* Name of the one that is made; its id is "made". */
    bool no_operation;    /* Create answers with the resource. */
    /* Fields it needs. */
    const struct sent *base;
    size_t base_count;
    const struct sent *fields;
    size_t field_count;
};

static void check_field(const struct kind *k, const struct sent *f)
{
    struct buf message = BUF_INIT;
    int rc;
    for (size_t i = 0; i < k->base_count; i++)
        if (k->base[i].number != f->number)
            put_field(&message, &k->base[i]);
    put_field(&message, f);
    rc = create(k->create, k->parent, "made", &message);
    buf_close(&message);
    ck_assert_msg(rc == (f->expected == IGNORED ? GRPC_OK : f->expected),
                  "%s.%s: code %d: %s", k->name, f->name, rc,
                  buf_cstr(&reply.text));
    if (rc) { /* The error names it. */
        ck_assert_msg(strstr(buf_cstr(&reply.text),
                             f->number == UNKNOWN ? "999" : f->name) != NULL,
                      "%s.%s: %s", k->name, f->name, buf_cstr(&reply.text));
        ck_assert_int_eq(call_named(k->get, k->resource), GRPC_NOT_FOUND);
        return;
    }
    ck_assert_msg(
        has_field(k->no_operation ? reply_message() : operation_response(),
                  f) == (f->expected == KEPT),
        "%s.%s in the answer", k->name, f->name);
    ck_assert_int_eq(call_named(k->get, k->resource), GRPC_OK);
    ck_assert_msg(has_field(reply_message(), f) == (f->expected == KEPT),
                  "%s.%s is got", k->name, f->name);
    if (k->drop)
        ck_assert_int_eq(call_named(k->drop, k->resource), GRPC_OK);
}

/* --- The messages -------------------------------------------------------- */

#define LABEL "\x0a\x01k\x12\x01v"
#define TIME  "\x08\x0a"
#define AUTOSCALING                                                            \
    "\x0a\x0d\x0a\x04\x08\x02\x10\x05\x12\x05\x10\x32\x18\x80\x14"
#define KEY_FIELD "\x0a\x08\x0a\x02id\x12\x02\x12\x00"

static const struct sent instance_fields[] = {
    MESSAGE("name", 1, IGNORED, "projects/p/instances/other"),
    MESSAGE("display_name", 2, KEPT, "shown"),
    INTEGER("state", 3, IGNORED, 2),
    INTEGER("type", 4, KEPT, 2),
    MESSAGE("labels", 5, KEPT, LABEL),
    MESSAGE("create_time", 7, IGNORED, TIME),
    INTEGER("satisfies_pzs", 8, IGNORED, 1),
    INTEGER("satisfies_pzi", 11, IGNORED, 1),
    MESSAGE("tags", 12, KEPT, LABEL),
    INTEGER("edition", 14, KEPT, 2),
    INTEGER("unknown", UNKNOWN, GRPC_UNIMPLEMENTED, 1),
};

static const struct sent cluster_fields[] = {
    MESSAGE("name", 1, IGNORED, INSTANCE "/clusters/other"),
    MESSAGE("location", 2, KEPT, "projects/p/locations/here"),
    INTEGER("state", 3, IGNORED, 4),
    INTEGER("serve_nodes", 4, KEPT, 7),
    INTEGER("default_storage_type", 5, KEPT, 2),
    MESSAGE("encryption_config", 6, GRPC_UNIMPLEMENTED, "\x0a\x01k"),
    /* A message without fields says nothing. */
    MESSAGE("encryption_config", 6, IGNORED, ""),
    INTEGER("node_scaling_factor", 9, KEPT, 1),
    INTEGER("unknown", UNKNOWN, GRPC_UNIMPLEMENTED, 1),
};

static const struct sent profile_base[] = {
    MESSAGE("multi_cluster_routing_use_any", 5, KEPT, ""),
};

static const struct sent profile_fields[] = {
    MESSAGE("name", 1, IGNORED, INSTANCE "/appProfiles/other"),
    MESSAGE("etag", 2, IGNORED, "x"),
    MESSAGE("description", 3, KEPT, "said"),
    INTEGER("unknown", UNKNOWN, GRPC_UNIMPLEMENTED, 1),
};

static const struct sent table_fields[] = {
    MESSAGE("name", 1, IGNORED, INSTANCE "/tables/other"),
    MESSAGE("cluster_states", 2, IGNORED, "\x0a\x01k"),
    INTEGER("granularity", 4, KEPT, 1),
    INTEGER("granularity", 4, GRPC_INVALID_ARGUMENT, 2),
    MESSAGE("restore_info", 6, IGNORED, "\x08\x01"),
    MESSAGE("change_stream_config",
            8,
            GRPC_INVALID_ARGUMENT,
            "\x0a\x02\x08\x0a"),
    MESSAGE("stats", 12, IGNORED, "\x08\x01"),
    /* 3 days, a day; 10 s; 3 days, 10 s. */
    MESSAGE("automated_backup_policy",
            13,
            KEPT,
            "\x0a\x04\x08\x80\xe9\x0f\x12\x04\x08\x80\xa3\x05"),
    MESSAGE("automated_backup_policy",
            13,
            GRPC_INVALID_ARGUMENT,
            "\x0a\x02\x08\x0a"),
    MESSAGE("automated_backup_policy",
            13,
            GRPC_INVALID_ARGUMENT,
            "\x0a\x04\x08\x80\xe9\x0f\x12\x02\x08\x0a"),
    /* 30 days; 10 s. */
    MESSAGE("tiered_storage_config",
            14,
            KEPT,
            "\x0a\x07\x0a\x05\x08\x80\x9a\x9e\x01"),
    MESSAGE("tiered_storage_config",
            14,
            GRPC_INVALID_ARGUMENT,
            "\x0a\x04\x0a\x02\x08\x0a"),
    MESSAGE("row_key_schema", 15, GRPC_INVALID_ARGUMENT, KEY_FIELD),
    INTEGER("unknown", UNKNOWN, GRPC_UNIMPLEMENTED, 1),
};

static const struct sent backup_base[] = {
    MESSAGE("source_table", 2, KEPT, TABLE),
    /* The year 2200. */
    MESSAGE("expire_time", 3, KEPT, "\x08\x80\x8f\xe1\xb2\x1b"),
};

static const struct sent backup_fields[] = {
    MESSAGE("name", 1, IGNORED, CLUSTER "/backups/other"),
    MESSAGE("source_table", 2, KEPT, TABLE),
    MESSAGE("expire_time", 3, KEPT, "\x08\x80\x8f\xe1\xb2\x1b"),
    MESSAGE("start_time", 4, IGNORED, TIME),
    MESSAGE("end_time", 5, IGNORED, TIME),
    INTEGER("size_bytes", 6, IGNORED, 12345678),
    INTEGER("state", 7, IGNORED, 1),
    MESSAGE("encryption_info", 9, IGNORED, "\x18\x02"),
    MESSAGE("source_backup", 10, IGNORED, "x"),
    INTEGER("backup_type", 11, KEPT, 2),
    MESSAGE("hot_to_standard_time", 12, GRPC_INVALID_ARGUMENT, TIME),
    INTEGER("unknown", UNKNOWN, GRPC_UNIMPLEMENTED, 1),
};

static const struct kind kinds[] = {
    {.name = "Instance",
     .create = INSTANCES "CreateInstance",
     .parent = "projects/p",
     .get = INSTANCES "GetInstance",
     .drop = INSTANCES "DeleteInstance",
     .resource = "projects/p/instances/made",
     .fields = instance_fields,
     .field_count = ARRAY_LEN(instance_fields)},
    {.name = "Cluster",
     .create = INSTANCES "CreateCluster",
     .parent = INSTANCE,
     .get = INSTANCES "GetCluster",
     .drop = INSTANCES "DeleteCluster",
     .resource = INSTANCE "/clusters/made",
     .fields = cluster_fields,
     .field_count = ARRAY_LEN(cluster_fields)},
    {.name = "AppProfile",
     .create = INSTANCES "CreateAppProfile",
     .parent = INSTANCE,
     .get = INSTANCES "GetAppProfile",
     .drop = INSTANCES "DeleteAppProfile",
     .resource = INSTANCE "/appProfiles/made",
     .no_operation = true,
     .base = profile_base,
     .base_count = ARRAY_LEN(profile_base),
     .fields = profile_fields,
     .field_count = ARRAY_LEN(profile_fields)},
    {.name = "Table",
     .create = TABLES "CreateTable",
     .parent = INSTANCE,
     .get = TABLES "GetTable",
     .drop = TABLES "DeleteTable",
     .resource = INSTANCE "/tables/made",
     .no_operation = true,
     .fields = table_fields,
     .field_count = ARRAY_LEN(table_fields)},
    {.name = "Backup",
     .create = TABLES "CreateBackup",
     .parent = CLUSTER,
     .get = TABLES "GetBackup",
     .drop = TABLES "DeleteBackup",
     .resource = CLUSTER "/backups/made",
     .base = backup_base,
     .base_count = ARRAY_LEN(backup_base),
     .fields = backup_fields,
     .field_count = ARRAY_LEN(backup_fields)},
};

/* A table, and a cluster that is not the last one. */
static void open_instance(void)
{
    struct buf none = BUF_INIT;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(
        create(INSTANCES "CreateCluster", INSTANCE, "first", &none), GRPC_OK);
}

static int read_as(const char *profile)
{
    struct buf b = read_request();
    pb_put_bytes(&b, 5, slice_str(profile));
    return call(DATA "ReadRows", &b);
}

static void run_params(void *arg)
{
    /* A ResponseParams: zone "here", cluster "c". */
    static const char params[] = "CgRoZXJlEgFj";
    struct buf cluster = BUF_INIT;
    (void)arg;
    open_all();
    pb_put_bytes(&cluster, 2, SLICE_LIT("projects/p/locations/here"));
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(reply.params_count, 0); /* Not of the data API. */
    ck_assert_int_eq(create(INSTANCES "CreateCluster", INSTANCE, "c", &cluster),
                     GRPC_OK);
    for (int i = 0; i < 2; i++) { /* Read, and recalled. */
        ck_assert_int_eq(write_cell("r", "f", "q", 1000, SLICE_LIT("v")),
                         GRPC_OK);
        ck_assert_str_eq(reply.params, params);
        ck_assert_int_eq(reply.params_count, 2); /* Headers and trailers. */
        ck_assert_int_eq(write_cell("r", "f", "q", 1, SLICE_LIT("v")),
                         GRPC_INVALID_ARGUMENT);
        ck_assert_str_eq(reply.params, params);
        ck_assert_int_eq(reply.params_count, 1); /* A status alone. */
        ck_assert_int_eq(read_as("nobody"), GRPC_NOT_FOUND);
        ck_assert_int_eq(reply.params_count, 0); /* It is nowhere. */
    }
    ck_assert_int_eq(call_named(DATA "PingAndWarm", INSTANCE), GRPC_OK);
    ck_assert_str_eq(reply.params, params);
    buf_close(&cluster);
    close_all();
}

START_TEST(test_response_params)
{
    /* Replies of the data API, also those that are a status alone, say in which
     * zone and cluster they were made. */
    run(run_params);
}

END_TEST

static void run_undelete(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    write_cell("r", "f", "q", 1000, SLICE_LIT("v"));
    /* There is none to bring back; it is there; it is not there. */
    ck_assert_int_eq(call_named(TABLES "UndeleteTable", TABLE "x"),
                     GRPC_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
        ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_NOT_FOUND);
        ck_assert_int_eq(call_named(TABLES "UndeleteTable", TABLE), GRPC_OK);
        ck_assert(slice_eq_str(pb_find(operation_response(), 1), TABLE));
        read_all();
        expect_rows("r{f:q@1000=v}\n");
        ck_assert_int_eq(call_named(TABLES "UndeleteTable", TABLE),
                         GRPC_NOT_FOUND);
    }
    /* One that was made again is in its way. */
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "UndeleteTable", TABLE),
                     GRPC_ALREADY_EXISTS);
    close_all();
}

/* --- Tests --------------------------------------------------------------- */

static void run_fields(void *arg)
{
    (void)arg;
    open_instance();
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (size_t j = 0; j < kinds[i].field_count; j++)
            check_field(&kinds[i], &kinds[i].fields[j]);
    close_all();
}

START_TEST(test_undelete)
{
    /* A table that was deleted comes back with its rows, once for each time. */
    run(run_undelete);
}

END_TEST

START_TEST(test_each_field)
{
    /* Each field alone, when the resource is made. */
    run(run_fields);
}

END_TEST

/* Make @id of the instance with the fields at @f. */
static int create_with(const char *method,
                       const char *id,
                       const struct sent *f,
                       size_t count)
{
    struct buf b = BUF_INIT;
    int rc;
    for (size_t i = 0; i < count; i++)
        put_field(&b, &f[i]);
    rc = create(method, INSTANCE, id, &b);
    buf_close(&b);
    return rc;
}

static void run_clusters(void *arg)
{
    /* Limits 2 to 5, CPU 50 %; what is kept has the least of SSDs, 2560 GiB. */
    static const struct sent asked = MESSAGE(
        "asked", 7, 0, "\x0a\x0a\x0a\x04\x08\x02\x10\x05\x12\x02\x10\x32");
    static const struct sent scaling =
        MESSAGE("cluster_config", 7, KEPT, AUTOSCALING);
    static const struct sent bad[] = {
        MESSAGE("no targets", 7, 0, "\x0a\x06\x0a\x04\x08\x02\x10\x05"),
        MESSAGE("max below min", 7, 0,
                "\x0a\x0a\x0a\x04\x08\x05\x10\x02\x12\x02\x10\x32"),
        MESSAGE("5 % CPU", 7, 0,
                "\x0a\x0a\x0a\x04\x08\x02\x10\x05\x12\x02\x10\x05"),
    };
    /* Within cluster_config: targets {cpu 60}. */
    static const struct sent target =
        MESSAGE("cpu", 7, KEPT, "\x0a\x04\x12\x02\x10\x3c");
    /* Limits 4 to 5. */
    static const struct sent least =
        MESSAGE("limits", 7, KEPT, "\x0a\x06\x0a\x04\x08\x04\x10\x05");
    static const struct sent many = INTEGER("serve_nodes", 4, KEPT, 30);
    static const struct sent odd[] = {INTEGER("serve_nodes", 4, KEPT, 3),
                                      INTEGER("factor", 9, KEPT, 2)};
    static const struct sent moved = MESSAGE("location", 2, KEPT, "elsewhere");
    struct slice config;
    (void)arg;
    open_instance();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_int_eq(
            create_with(INSTANCES "CreateCluster", "c", &bad[i], 1),
            GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create_with(INSTANCES "CreateCluster", "c", odd, 2),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create_with(INSTANCES "CreateCluster", "c", &asked, 1),
                     GRPC_OK);
    ck_assert(has_field(operation_response(), &scaling));
    ck_assert_uint_eq(pb_find_integer(operation_response(), 4), 0);
    ck_assert_int_eq(call_named(INSTANCES "GetCluster", CLUSTER), GRPC_OK);
    ck_assert(has_field(reply_message(), &scaling));
    ck_assert_uint_eq(pb_find_integer(reply_message(), 4), 2);
    ck_assert_int_eq(
        update(INSTANCES "PartialUpdateCluster", CLUSTER, &target,
               "cluster_config.cluster_autoscaling_config.autoscaling_targets."
               "cpu_utilization_percent"),
        GRPC_OK);
    config = pb_find(pb_find(operation_response(), 7), 1);
    ck_assert_uint_eq(pb_find_integer(pb_find(config, 1), 2), 5);
    ck_assert_uint_eq(pb_find_integer(pb_find(config, 2), 2), 60);
    ck_assert_int_eq(
        update(INSTANCES "PartialUpdateCluster", CLUSTER, &least,
               "cluster_config.cluster_autoscaling_config.autoscaling_limits"),
        GRPC_OK);
    ck_assert_uint_eq(pb_find_integer(operation_response(), 4), 2);
    ck_assert_int_eq(
        update(INSTANCES "PartialUpdateCluster", CLUSTER, &many, "serve_nodes"),
        GRPC_OK);
    ck_assert_uint_eq(pb_find_integer(operation_response(), 4), 5);
    ck_assert_int_eq(update(INSTANCES "PartialUpdateCluster", CLUSTER, NULL,
                            "clusterConfig"),
                     GRPC_OK);
    ck_assert_uint_eq(pb_find(operation_response(), 7).len, 0);
    ck_assert_uint_eq(pb_find_integer(operation_response(), 4), 5);
    ck_assert_int_eq(
        update(INSTANCES "PartialUpdateCluster", CLUSTER, &moved, "location"),
        GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(update(INSTANCES "PartialUpdateCluster", CLUSTER, NULL,
                            "encryption_config"),
                     GRPC_OK); /* There is none. */
    close_all();
}

START_TEST(test_clusters)
{
    /* Autoscaling is checked, kept by the part and shown as nodes; what is
     * fixed stays. */
    run(run_clusters);
}

END_TEST

static int write_as(const char *profile)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    put_set(&b, 3, "f", "q", 1000, SLICE_LIT("v"));
    pb_put_bytes(&b, 4, slice_str(profile));
    return call(DATA "MutateRow", &b);
}

static int write_many_as(const char *profile)
{
    struct buf b = BUF_INIT;
    size_t entry;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    entry = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("r"));
    put_set(&b, 2, "f", "q", 1000, SLICE_LIT("v"));
    pb_close(&b, entry);
    pb_put_bytes(&b, 3, slice_str(profile));
    return call(DATA "MutateRows", &b);
}

static int check_as(const char *profile)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    put_set(&b, 4, "f", "q", 1000, SLICE_LIT("v"));
    pb_put_bytes(&b, 7, slice_str(profile));
    return call(DATA "CheckAndMutateRow", &b);
}

static int sample_as(const char *method, const char *name, const char *profile)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, slice_str(name));
    pb_put_bytes(&b, 2, slice_str(profile));
    return call(method, &b);
}

/* How many fields @message has: of a list, how many things. */
static size_t field_count(struct slice message)
{
    struct cursor c = cursor_make(message);
    struct pb_field ignored;
    size_t count = 0;
    while (pb_next(&c, &ignored))
        count++;
    return count;
}

static void run_profiles(void *arg)
{
    static const struct sent single[] = {MESSAGE("single_cluster_routing", 6,
                                                 KEPT,
                                                 "\x0a\x05"
                                                 "first\x10\x01"),
                                         INTEGER("priority", 7, KEPT, 1)};
    static const struct sent standard =
        MESSAGE("standard_isolation", 11, KEPT, "\x08\x01");
    static const struct sent boost[] = {
        MESSAGE("single_cluster_routing", 6, KEPT,
                "\x0a\x05"
                "first"),
        MESSAGE("data_boost_isolation_read_only", 10, KEPT, "\x08\x01")};
    static const struct sent highest =
        MESSAGE("standard_isolation", 11, KEPT, "\x08\x03");
    static const struct sent stale = MESSAGE("etag", 2, KEPT, "stale");
    (void)arg;
    open_instance();
    ck_assert_int_eq(
        create_with(INSTANCES "CreateAppProfile", "none", &single[1], 1),
        GRPC_INVALID_ARGUMENT); /* No routing. */
    ck_assert_int_eq(
        create_with(INSTANCES "CreateAppProfile", "both", single, 2), GRPC_OK);
    ck_assert(has_field(reply_message(), &single[0]));
    ck_assert(has_field(reply_message(), &standard));
    ck_assert_uint_eq(pb_find(reply_message(), 2).len, 0); /* No etag. */
    ck_assert_int_eq(
        create_with(INSTANCES "CreateAppProfile", "boost", boost, 2), GRPC_OK);
    ck_assert(has_field(reply_message(), &boost[1]));
    ck_assert_int_eq(
        create_with(INSTANCES "CreateAppProfile", "any", profile_base, 1),
        GRPC_OK);
    ck_assert(has_field(reply_message(), &highest));
    ck_assert_int_eq(update(INSTANCES "UpdateAppProfile",
                            INSTANCE "/appProfiles/boost", &standard,
                            "standard_isolation"),
                     GRPC_OK);
    ck_assert(has_field(operation_response(), &standard));
    ck_assert(!has_field(operation_response(), &boost[1])); /* One of them. */
    ck_assert_int_eq(update(INSTANCES "UpdateAppProfile",
                            INSTANCE "/appProfiles/boost", &boost[1],
                            "data_boost_isolation_read_only"),
                     GRPC_OK);
    ck_assert_int_eq(update(INSTANCES "UpdateAppProfile",
                            INSTANCE "/appProfiles/boost", &stale,
                            "description"),
                     GRPC_OK); /* As the service: the last one counts. */
    /* There is one cluster, and the default profile routes to it. */
    ck_assert_int_eq(
        call_named(INSTANCES "GetAppProfile", INSTANCE "/appProfiles/default"),
        GRPC_OK);
    ck_assert_uint_eq(pb_find_integer(pb_find(reply_message(), 6), 2), 1);
    /* A list has those three and the default one. */
    ck_assert_int_eq(call_named(INSTANCES "ListAppProfiles", INSTANCE),
                     GRPC_OK);
    ck_assert_uint_eq(field_count(reply_message()), 4);
    /* Calls that name it. */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(read_as("nobody"), GRPC_NOT_FOUND);
        ck_assert_int_eq(write_as("nobody"), GRPC_NOT_FOUND);
        ck_assert_int_eq(write_many_as("nobody"), GRPC_NOT_FOUND);
        ck_assert_int_eq(check_as("nobody"), GRPC_NOT_FOUND);
        ck_assert_int_eq(sample_as(DATA "SampleRowKeys", TABLE, "nobody"),
                         GRPC_NOT_FOUND);
        ck_assert_int_eq(sample_as(DATA "PingAndWarm", INSTANCE, "nobody"),
                         GRPC_NOT_FOUND);
        ck_assert_int_eq(read_as("a/b"), GRPC_NOT_FOUND);
        ck_assert_int_eq(read_as("boost"), GRPC_OK);
        ck_assert_int_eq(write_as("boost"), GRPC_PERMISSION_DENIED);
        ck_assert_int_eq(write_as("any"), GRPC_OK);
        ck_assert_int_eq(check_as("any"), GRPC_PERMISSION_DENIED);
        ck_assert_int_eq(check_as("both"), GRPC_OK);
        ck_assert_int_eq(check_as("default"), GRPC_OK);
    }
    ck_assert_int_eq(
        call_named(INSTANCES "DeleteAppProfile", INSTANCE "/appProfiles/any"),
        GRPC_OK);
    ck_assert_int_eq(write_as("any"), GRPC_NOT_FOUND);
    close_all();
}

START_TEST(test_profiles)
{
    /* An app profile keeps what it says, allows what it says, and has to be
     * there. */
    run(run_profiles);
}

END_TEST

/* ModifyColumnFamilies with one modification of @family: @kind is create or
 * update's number. */
static int modify(unsigned kind,
                  const char *id,
                  const char *family,
                  size_t len,
                  const char *mask)
{
    struct buf b = BUF_INIT;
    size_t modification;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    modification = pb_open(&b, 2);
    pb_put_bytes(&b, 1, slice_str(id));
    pb_put_bytes(&b, kind, slice_make(family, len));
    if (mask) {
        size_t opened = pb_open(&b, 6);
        pb_put_bytes(&b, 1, slice_str(mask));
        pb_close(&b, opened);
    }
    pb_close(&b, modification);
    return call(TABLES "ModifyColumnFamilies", &b);
}

/* Family @id of the reply, a Table. */
static struct slice family_of(const char *id)
{
    struct cursor c = cursor_make(reply_message());
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 3) && slice_eq_str(pb_find(f.bytes, 1), id))
            return pb_find(f.bytes, 2);
    ck_abort_msg("no family %s", id);
}

#define INT64_TYPE  "\x1a\x02\x2a\x00" /* value_type {int64_type {}} */
#define STRING_TYPE "\x1a\x02\x12\x00"
#define ONE_VERSION "\x0a\x02\x08\x01"

static void run_families(void *arg)
{
    struct slice int64_type = SLICE_LIT("\x2a\x00");
    struct slice string_type = SLICE_LIT("\x12\x00");
    (void)arg;
    open_instance();
    ck_assert_int_eq(modify(2, "n", BYTES(INT64_TYPE ONE_VERSION), NULL),
                     GRPC_OK);
    ck_assert(slice_eq(pb_find(family_of("n"), 3), int64_type));
    ck_assert_uint_eq(pb_find_integer(pb_find(family_of("n"), 1), 1), 1);
    ck_assert_uint_eq(pb_find(family_of("f"), 3).len, 0);
    /* Without a mask: the rule alone, and nothing is dropped in silence. */
    ck_assert_int_eq(modify(3, "n", BYTES(STRING_TYPE), NULL),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(modify(3, "n", BYTES("\x0a\x02\x08\x03"), NULL), GRPC_OK);
    ck_assert(slice_eq(pb_find(family_of("n"), 3), int64_type));
    ck_assert_int_eq(modify(3, "n", BYTES(STRING_TYPE), "value_type"), GRPC_OK);
    ck_assert(slice_eq(pb_find(family_of("n"), 3), string_type));
    ck_assert_uint_eq(pb_find_integer(pb_find(family_of("n"), 1), 1), 3);
    ck_assert_int_eq(modify(3, "no", BYTES(STRING_TYPE), "value_type"),
                     GRPC_NOT_FOUND);
    ck_assert_int_eq(modify(3, "n", BYTES(STRING_TYPE), "name"),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(modify(2, "x", BYTES("\x1a\x02\x32\x00"), NULL),
                     GRPC_INVALID_ARGUMENT); /* An aggregate of nothing. */
    ck_assert_int_eq(modify(2, "x", BYTES("\x1a\x03\xf2\x07\x00"), NULL),
                     GRPC_INVALID_ARGUMENT); /* Of no known type. */
    ck_assert_int_eq(modify(2, "x", BYTES("\x22\x01x"), NULL),
                     GRPC_UNIMPLEMENTED); /* Field 4. */
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_OK);
    ck_assert(slice_eq(pb_find(family_of("n"), 3), string_type));
    /* A family of that name that comes later is another one. */
    {
        struct buf b = BUF_INIT;
        size_t modification;
        pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
        modification = pb_open(&b, 2);
        pb_put_bytes(&b, 1, SLICE_LIT("n"));
        pb_put_integer(&b, 4, 1);
        pb_close(&b, modification);
        ck_assert_int_eq(call(TABLES "ModifyColumnFamilies", &b), GRPC_OK);
    }
    ck_assert_int_eq(modify(2, "n", BYTES(ONE_VERSION), NULL), GRPC_OK);
    ck_assert_uint_eq(pb_find(family_of("n"), 3).len, 0);
    close_all();
}

START_TEST(test_families)
{
    /* The type of a family's values is checked and kept, and changed when the
     * mask says so. */
    run(run_families);
}

END_TEST

/* UpdateTable of the row key's schema; NULL: away with it. */
static int set_schema(const char *schema, size_t len, bool ignore_warnings)
{
    struct buf b = BUF_INIT;
    size_t opened = pb_open(&b, 1);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    if (schema)
        pb_put_bytes(&b, 15, slice_make(schema, len));
    pb_close(&b, opened);
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("row_key_schema"));
    pb_close(&b, opened);
    pb_put_integer(&b, 3, ignore_warnings);
    return call(TABLES "UpdateTable", &b);
}

/* A field "id" of a string as UTF-8, and one encoding of the whole. */
#define STRING_FIELD(name)                                                     \
    "\x0a\x0c\x0a\x02" name "\x12\x06\x12\x04\x0a\x02\x12\x00"
#define SINGLETON    "\x12\x02\x0a\x00"
#define DELIMITED    "\x12\x05\x12\x03\x0a\x01#"
#define NO_DELIMITER "\x12\x02\x12\x00"

static void run_schemas(void *arg)
{
    (void)arg;
    open_instance();
    ck_assert_int_eq(set_schema(BYTES(KEY_FIELD SINGLETON), false),
                     GRPC_INVALID_ARGUMENT); /* A type without encoding. */
    ck_assert_int_eq(set_schema(BYTES(STRING_FIELD("id")), false),
                     GRPC_INVALID_ARGUMENT); /* No encoding of all. */
    ck_assert_int_eq(set_schema(BYTES(SINGLETON), false),
                     GRPC_INVALID_ARGUMENT); /* No fields. */
    ck_assert_int_eq(
        set_schema(BYTES(STRING_FIELD("id") STRING_FIELD("at") SINGLETON),
                   false),
        GRPC_INVALID_ARGUMENT); /* Two. */
    ck_assert_int_eq(
        set_schema(BYTES(STRING_FIELD("id") STRING_FIELD("id") DELIMITED),
                   false),
        GRPC_INVALID_ARGUMENT); /* The same name. */
    ck_assert_int_eq(set_schema(BYTES(STRING_FIELD("id") NO_DELIMITER), false),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(
        set_schema(BYTES("\x0a\x0b\x0a\x01"
                         "f\x12\x06\x12\x04\x0a\x02\x12\x00" SINGLETON),
                   false),
        GRPC_INVALID_ARGUMENT); /* A family's name. */
    ck_assert_int_eq(
        set_schema(BYTES(STRING_FIELD("id") STRING_FIELD("at") DELIMITED),
                   false),
        GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_OK);
    ck_assert_uint_gt(pb_find(reply_message(), 15).len, 0);
    ck_assert_int_eq(modify(2, "id", BYTES(ONE_VERSION), NULL),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(set_schema(BYTES(STRING_FIELD("id") SINGLETON), true),
                     GRPC_INVALID_ARGUMENT); /* It cannot change. */
    ck_assert_int_eq(set_schema(NULL, 0, false), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(set_schema(NULL, 0, true), GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_OK);
    ck_assert_uint_eq(pb_find(reply_message(), 15).len, 0);
    close_all();
}

START_TEST(test_row_key_schemas)
{
    /* A schema of row keys is one that can be decoded, is set once, and goes
     * when it must. */
    run(run_schemas);
}

END_TEST

static int restore(const char *table, const char *backup)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, 2, slice_str(table));
    pb_put_bytes(&b, 3, slice_str(backup));
    return call(TABLES "RestoreTable", &b);
}

static void run_restored(void *arg)
{
    static const struct sent guard = INTEGER("deletion_protection", 9, KEPT, 1);
    struct buf message = BUF_INIT;
    struct slice info;
    (void)arg;
    open_instance();
    ck_assert_int_eq(modify(2, "n", BYTES(INT64_TYPE), NULL), GRPC_OK);
    ck_assert_int_eq(set_schema(BYTES(STRING_FIELD("id") SINGLETON), false),
                     GRPC_OK);
    ck_assert_int_eq(
        update(TABLES "UpdateTable", TABLE, &guard, "deletion_protection"),
        GRPC_OK);
    for (size_t i = 0; i < ARRAY_LEN(backup_base); i++)
        put_field(&message, &backup_base[i]);
    ck_assert_int_eq(create(TABLES "CreateBackup", CLUSTER, "b", &message),
                     GRPC_OK);
    ck_assert_int_eq(restore("u", CLUSTER "/backups/b"), GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "GetTable", INSTANCE "/tables/u"),
                     GRPC_OK);
    ck_assert(slice_eq(pb_find(family_of("n"), 3), SLICE_LIT("\x2a\x00")));
    ck_assert_uint_gt(pb_find(reply_message(), 15).len, 0);
    ck_assert_uint_eq(pb_find_integer(reply_message(), 9), 0);
    info = pb_find(pb_find(reply_message(), 6), 2);
    ck_assert(slice_eq_str(pb_find(info, 1), CLUSTER "/backups/b"));
    ck_assert(slice_eq_str(pb_find(info, 4), TABLE));
    ck_assert_int_eq(call_named(TABLES "GetBackup", CLUSTER "/backups/b"),
                     GRPC_OK);
    ck_assert_uint_eq(pb_find(reply_message(), 1000).len, 0);
    buf_close(&message);
    close_all();
}

START_TEST(test_restored_tables)
{
    /* A table made of a backup has the schema of the one that was backed up,
     * and says where it comes from. */
    run(run_restored);
}

END_TEST

TEST_MAIN("settings",
          test_each_field,
          test_clusters,
          test_profiles,
          test_families,
          test_row_key_schemas,
          test_restored_tables,
          test_undelete,
          test_response_params)
