/* Meters of SSTables: what filters save, and how many bytes are read and
 * written for which reason. The block cache that the readers of a store share
 * has them.
 *
 * Threads: any; see base/metrics/metric.h.
 */
#ifndef BIGTABLE_SSTABLE_TABLE_METER_H
#define BIGTABLE_SSTABLE_TABLE_METER_H

#include "base/metrics/metric.h"

/* Why bytes are read. */
enum table_read_reason {
    TABLE_READ_POINT, /* Rows by name; also indexes and filters. */
    TABLE_READ_SCAN,
    TABLE_READ_COMPACTION,
    TABLE_READ_REASONS
};

/* Why bytes are written. */
enum table_write_reason {
    TABLE_WRITE_FLUSH,
    TABLE_WRITE_MERGE, /* Compactions by choice, */
    TABLE_WRITE_MAJOR, /* and of all runs. */
    TABLE_WRITE_REASONS
};

/* The run that is written. */
enum table_write_level {
    TABLE_LEVEL_TOP, /* The newest. */
    TABLE_LEVEL_MIDDLE,
    TABLE_LEVEL_BOTTOM, /* The oldest, beneath which is nothing. */
    TABLE_WRITE_LEVELS
};

struct table_meter {
    struct metric_counter filter_checks;    /* Tables whose filter was asked, */
    struct metric_counter filter_negatives; /* and those that it ruled out. */
    struct metric_counter read_bytes[TABLE_READ_REASONS];
    struct metric_counter written_bytes[TABLE_WRITE_REASONS]
                                       [TABLE_WRITE_LEVELS];
};

#endif /* BIGTABLE_SSTABLE_TABLE_METER_H */
