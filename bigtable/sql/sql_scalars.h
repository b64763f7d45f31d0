/* Scalar functions that DuckDB has not and GoogleSQL needs
 * (bigtable/googlesql):
 *
 *     quarry_latin1(BLOB) → VARCHAR     a character for each byte,
 *     quarry_unlatin1(VARCHAR) → BLOB   and back
 *     quarry_int64(BLOB) → BIGINT       8 bytes, big endian; also _float64, and
 *     quarry_float32(BLOB) → FLOAT      4 bytes
 *     quarry_parse_int64(VARCHAR) → BIGINT   decimal digits, or 0x…
 *     quarry_divisor(DOUBLE) → DOUBLE, quarry_whole_divisor(BIGINT) → BIGINT
 *                                       an error for 0
 */
#ifndef BIGTABLE_SQL_SQL_SCALARS_H
#define BIGTABLE_SQL_SQL_SCALARS_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/sql/duckdb_api.h"

/* Register them at @connection's database. ERR_INVALID. */
MUST_CHECK int sql_scalars_register(duckdb_connection connection,
                                    struct err *err);

#endif /* BIGTABLE_SQL_SQL_SCALARS_H */
