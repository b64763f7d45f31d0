/* All methods of a tablet server, and all of the master (call_tables.h). */
#ifndef BIGTABLE_WIRE_METHODS_H
#define BIGTABLE_WIRE_METHODS_H

#include "bigtable/wire/change_calls.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/heat_calls.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/snapshot_calls.h"
#include "bigtable/wire/survey_calls.h"

#define TABLET_METHODS(METHOD)                                                 \
    TABLET_ORDER_METHODS(METHOD)                                               \
    TABLET_DATA_METHODS(METHOD)                                                \
    TABLET_LOAD_METHODS(METHOD)                                                \
    TABLET_SURVEY_METHODS(METHOD)                                              \
    TABLET_HEAT_METHODS(METHOD)                                                \
    TABLET_CHANGE_METHODS(METHOD)

#define MASTER_METHODS(METHOD)                                                 \
    MASTER_TABLE_METHODS(METHOD)                                               \
    MASTER_POLICY_METHODS(METHOD)                                              \
    MASTER_SNAPSHOT_METHODS(METHOD)

#endif /* BIGTABLE_WIRE_METHODS_H */
