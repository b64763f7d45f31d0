/* Any message to any method: an answer with a status, nothing else, and what a
 * client gets is well-formed.
 *
 * The input's first byte chooses the method, the rest is the request. The store
 * has a table with some rows; inputs find it under the name the seeds have.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/quarry.h"
#include "tests/lib/grpc_client.h"

#define DATA      "/google.bigtable.v2.Bigtable/"
#define TABLES    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

static const char *const methods[] = {
    DATA "ReadRows",
    DATA "MutateRow",
    DATA "MutateRows",
    DATA "CheckAndMutateRow",
    DATA "ReadModifyWriteRow",
    DATA "SampleRowKeys",
    DATA "PingAndWarm",
    TABLES "CreateTable",
    TABLES "ListTables",
    TABLES "GetTable",
    TABLES "UpdateTable",
    TABLES "ModifyColumnFamilies",
    TABLES "DropRowRange",
    TABLES "CheckConsistency",
    TABLES "DeleteTable",
    INSTANCES "CreateInstance",
    INSTANCES "PartialUpdateInstance",
    INSTANCES "CreateCluster",
    INSTANCES "ListClusters",
    INSTANCES "CreateAppProfile",
    INSTANCES "UpdateAppProfile",
    TABLES "SetIamPolicy",
    INSTANCES "DeleteInstance",
};

struct input {
    struct world *world;
    const char *method;
    struct slice request;
};

static void make_table(struct quarry *q)
{
    static const struct quarry_family_spec family = {"f", "versions=2"};
    struct quarry_table *t;
    int rc = quarry_table_create(q, "i.t", &family, 1, NULL, 0, NULL);
    PRE(rc == 0);
    rc = quarry_table_open(q, "i.t", &t, NULL);
    PRE(rc == 0);
    for (int i = 0; i < 4; i++) {
        char key = (char)('a' + i);
        struct quarry_mutation *m = quarry_mutation_new(slice_make(&key, 1));
        quarry_mutation_set(m, "f", SLICE_LIT("q"), 1000,
                            SLICE_LIT("12345678"));
        rc = quarry_apply(t, m, NULL, NULL);
        PRE(rc == 0);
        quarry_mutation_free(m);
    }
    quarry_table_close(t);
}

static void run(void *arg)
{
    const struct input *in = arg;
    const struct quarry_options o = {
        .world = in->world, .background_tasks = 1, .cache_bytes = 1 << 20};
    const struct gateway_options g = {
        .address = "g:1", .together = true, .workers = 1};
    struct grpc_client client = {.stream = 0};
    static struct grpc_reply reply; /* The frame is large already. */
    struct quarry *quarry;
    struct gateway *gateway;
    struct slice message;
    size_t at = 0;
    int rc = quarry_open("file:/q", &o, &quarry, NULL);
    PRE(rc == 0);
    make_table(quarry);
    rc = gateway_open(in->world, quarry, &g, &gateway, NULL);
    PRE(rc == 0);
    grpc_client_open(&client, gateway_address(gateway));
    rc = grpc_client_call(&client, in->method, in->request, &reply);
    PRE(rc == 0 && reply.code >= 0);
    while (grpc_reply_next(&reply, &at, &message))
        PRE(pb_is_message(message));
    grpc_reply_close(&reply);
    grpc_client_close(&client);
    gateway_close(gateway);
    quarry_close(quarry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in;
    if (size == 0 || size > 65536)
        return 0;
    in.method = methods[data[0] % ARRAY_LEN(methods)];
    in.request = slice_make(data + 1, size - 1);
    in.world = sim_world_new(&(struct sim_options){.seed = 1});
    sim_run(in.world, run, &in);
    world_free(in.world);
    return 0;
}
