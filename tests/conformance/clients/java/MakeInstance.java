/* What tests expect to be there: an instance of one cluster with a table of the
 * family "cf" and some rows.
 *
 *     MakeInstance PROJECT INSTANCE CLUSTER TABLE ROWS
 *
 * The server is that of the properties bigtable.admin-endpoint and
 * bigtable.data-endpoint, or the service's.
 */
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminSettings;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminSettings;
import com.google.cloud.bigtable.admin.v2.models.CreateInstanceRequest;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.admin.v2.models.StorageType;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.BigtableDataSettings;
import com.google.cloud.bigtable.data.v2.models.RowMutation;

public class MakeInstance {
    public static void main(String[] args) throws Exception {
        String admin = System.getProperty("bigtable.admin-endpoint");
        String data = System.getProperty("bigtable.data-endpoint");
        BigtableInstanceAdminSettings.Builder instances =
            BigtableInstanceAdminSettings.newBuilder().setProjectId(args[0]);
        BigtableTableAdminSettings.Builder tables =
            BigtableTableAdminSettings.newBuilder().setProjectId(args[0])
                .setInstanceId(args[1]);
        BigtableDataSettings.Builder rows =
            BigtableDataSettings.newBuilder().setProjectId(args[0])
                .setInstanceId(args[1]);
        if (admin != null) {
            instances.stubSettings().setEndpoint(admin);
            tables.stubSettings().setEndpoint(admin);
            rows.stubSettings().setEndpoint(data);
        }
        try (BigtableInstanceAdminClient c =
                 BigtableInstanceAdminClient.create(instances.build())) {
            c.createInstance(CreateInstanceRequest.of(args[1])
                .addCluster(args[2], "us-central1-b", 3, StorageType.SSD));
        }
        try (BigtableTableAdminClient c =
                 BigtableTableAdminClient.create(tables.build())) {
            c.createTable(CreateTableRequest.of(args[3]).addFamily("cf"));
        }
        try (BigtableDataClient c = BigtableDataClient.create(rows.build())) {
            for (int i = 0; i < Integer.parseInt(args[4]); i++)
                c.mutateRow(RowMutation.create(args[3],
                    String.format("key%09d", i)).setCell("cf", "q", "v" + i));
        }
        System.exit(0);
    }
}
