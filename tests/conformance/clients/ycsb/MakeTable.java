/* A new table of one family, in place of one that is there: MakeTable PROJECT
 * INSTANCE TABLE FAMILY, at $BIGTABLE_EMULATOR_HOST. */
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;

public class MakeTable {
    public static void main(String[] args) throws Exception {
        try (BigtableTableAdminClient c =
                 BigtableTableAdminClient.create(args[0], args[1])) {
            if (c.exists(args[2]))
                c.deleteTable(args[2]);
            c.createTable(CreateTableRequest.of(args[2]).addFamily(args[3]));
        }
        System.exit(0);
    }
}
