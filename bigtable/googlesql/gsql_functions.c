/* The table. Where DuckDB's function of the same name differs (NULL, zero,
 * positions), the expression says what GoogleSQL means.
 */
#include "bigtable/googlesql/gsql_functions.h"

#include "base/core/macros.h"
#include "bigtable/googlesql/gsql_lexer.h"

#define MANY           GSQL_ARGUMENTS_MAX
#define AGG            GSQL_AGGREGATE
#define TXT            GSQL_TEXTUAL
#define ALPHABET_LOWER "'abcdefghijklmnopqrstuvwxyz'"
#define ALPHABET_UPPER "'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"
#define IN_LATIN1(x)   "quarry_unlatin1(" x ")"
#define NOT_A_SCALAR   "json_type($1, $2) IN ('OBJECT', 'ARRAY')"

#define B   GSQL_IS_BOOL
#define I   GSQL_IS_INT64
#define F   GSQL_IS_FLOAT64
#define S   GSQL_IS_STRING
#define Y   GSQL_IS_BYTES
#define D   GSQL_IS_DATE
#define T   GSQL_IS_TIMESTAMP
#define A1  GSQL_IS_FIRST
#define A2  GSQL_IS_SECOND
#define ALL GSQL_IS_COMMON

/* Sorted by name. */
static const struct gsql_function functions[] = {
    {"ABS", 1, 1, A1, 0, "abs($1)", NULL},
    {"ACOS", 1, 1, F, 0, "acos($1)", NULL},
    {"ACOSH", 1, 1, F, 0, "acosh($1)", NULL},
    {"ANY_VALUE", 1, 1, A1, AGG, "any_value($1)", NULL},
    {"APPROX_COUNT_DISTINCT", 1, 1, I, AGG, "approx_count_distinct($1)", NULL},
    {"ARRAY_AGG", 1, 1, GSQL_IS_LIST, AGG, "list($d$1$o)", NULL},
    {"ARRAY_CONCAT", 1, MANY, A1, 0, "($|)", NULL},
    {"ARRAY_FILTER", 2, 2, A1, 0, "list_filter($1, $2)", NULL},
    {"ARRAY_FIRST", 1, 1, GSQL_IS_ELEMENT, 0,
     "CASE WHEN len($1) = 0 THEN error('ARRAY_FIRST of an empty array') "
     "ELSE list_extract($1, 1) END",
     NULL},
    {"ARRAY_INCLUDES", 2, 2, B, 0, "list_contains($1, $2)", NULL},
    {"ARRAY_INCLUDES_ALL", 2, 2, B, 0, "list_has_all($1, $2)", NULL},
    {"ARRAY_INCLUDES_ANY", 2, 2, B, 0, "list_has_any($1, $2)", NULL},
    {"ARRAY_IS_DISTINCT", 1, 1, B, 0, "(len(list_distinct($1)) = len($1))",
     NULL},
    {"ARRAY_LAST", 1, 1, GSQL_IS_ELEMENT, 0,
     "CASE WHEN len($1) = 0 THEN error('ARRAY_LAST of an empty array') "
     "ELSE list_extract($1, -1) END",
     NULL},
    {"ARRAY_LENGTH", 1, 1, I, 0, "len($1)", NULL},
    {"ARRAY_MAX", 1, 1, GSQL_IS_ELEMENT, 0, "list_max($1)", NULL},
    {"ARRAY_MIN", 1, 1, GSQL_IS_ELEMENT, 0, "list_min($1)", NULL},
    {"ARRAY_REVERSE", 1, 1, A1, 0, "list_reverse($1)", NULL},
    {"ARRAY_TO_STRING", 2, 2, S, 0, "array_to_string($1, $2)", NULL},
    {"ARRAY_TRANSFORM", 2, 2, GSQL_IS_MAPPED, 0, "list_transform($1, $2)",
     NULL},
    {"ASCII", 1, 1, I, 0, "ascii($1)", NULL},
    {"ASIN", 1, 1, F, 0, "asin($1)", NULL},
    {"ASINH", 1, 1, F, 0, "asinh($1)", NULL},
    {"ATAN", 1, 1, F, 0, "atan($1)", NULL},
    {"ATAN2", 2, 2, F, 0, "atan2($1, $2)", NULL},
    {"ATANH", 1, 1, F, 0, "atanh($1)", NULL},
    {"AVG", 1, 1, F, AGG, "avg($d$1)", NULL},
    {"BIT_AND", 1, 1, I, AGG, "bit_and($d$1)", NULL},
    {"BIT_COUNT", 1, 1, I, 0, "bit_count($1)::BIGINT", NULL},
    {"BIT_OR", 1, 1, I, AGG, "bit_or($d$1)", NULL},
    {"BIT_XOR", 1, 1, I, AGG, "bit_xor($d$1)", NULL},
    {"BYTE_LENGTH", 1, 1, I, 0, "strlen($1)", "octet_length($1)"},
    {"CBRT", 1, 1, F, 0, "cbrt($1)", NULL},
    {"CEIL", 1, 1, F, 0, "ceil($1)::DOUBLE", NULL},
    {"CEILING", 1, 1, F, 0, "ceil($1)::DOUBLE", NULL},
    {"CHARACTER_LENGTH", 1, 1, I, 0, "length($1)", NULL},
    {"CHAR_LENGTH", 1, 1, I, 0, "length($1)", NULL},
    {"CHR", 1, 1, S, 0, "chr(($1)::INTEGER)", NULL},
    {"COALESCE", 1, MANY, ALL, GSQL_ALIKE, "coalesce($*)", NULL},
    {"CONCAT", 1, MANY, A1, GSQL_ALIKE, "($|)", NULL},
    {"CONTAINS_SUBSTR", 2, 2, B, 0, "contains(lower($1), lower($2))", NULL},
    {"COS", 1, 1, F, 0, "cos($1)", NULL},
    {"COSH", 1, 1, F, 0, "cosh($1)", NULL},
    {"COSINE_DISTANCE", 2, 2, F, 0, "list_cosine_distance($1, $2)::DOUBLE",
     NULL},
    {"COUNT", 1, 1, I, AGG, "count($d$1)", NULL},
    {"COUNTIF", 1, 1, I, AGG, "count($dCASE WHEN $1 THEN 1 END)", NULL},
    {"CURRENT_DATE", 0, 0, D, 0, "make_timestamp(epoch_us(now()))::DATE", NULL},
    {"CURRENT_TIMESTAMP", 0, 0, T, 0, "make_timestamp(epoch_us(now()))", NULL},
    {"DATE", 1, 3, D, 0, "[make_date($1, $2, $3)|($1)::DATE]", NULL},
    {"DATE_ADD", 2, 2, D, 0, "($1 + $2)::DATE", NULL},
    {"DATE_DIFF", 3, 3, I, GSQL_PART_3, "date_diff($3, $2, $1)", NULL},
    {"DATE_FROM_UNIX_DATE", 1, 1, D, 0, "('1970-01-01'::DATE + ($1)::INTEGER)",
     NULL},
    {"DATE_SUB", 2, 2, D, 0, "($1 - $2)::DATE", NULL},
    {"DATE_TRUNC", 2, 2, D, GSQL_PART_2, "date_trunc($2, $1)::DATE", NULL},
    {"DIV", 2, 2, I, 0, "($1 // quarry_whole_divisor($2))", NULL},
    {"EDIT_DISTANCE", 2, 2, I, 0, "levenshtein($1, $2)", NULL},
    {"ENDS_WITH", 2, 2, B, TXT, "ends_with($1, $2)", NULL},
    {"EUCLIDEAN_DISTANCE", 2, 2, F, 0, "list_distance($1, $2)::DOUBLE", NULL},
    {"EXP", 1, 1, F, 0, "exp($1)", NULL},
    {"FLOOR", 1, 1, F, 0, "floor($1)::DOUBLE", NULL},
    {"FORMAT_DATE", 2, 2, S, GSQL_FORMAT_1, "strftime($2, $1)", NULL},
    {"FORMAT_TIMESTAMP", 2, 2, S, GSQL_FORMAT_1, "strftime($2, $1)", NULL},
    {"FROM_BASE64", 1, 1, Y, 0, "from_base64($1)", NULL},
    {"FROM_HEX", 1, 1, Y, 0, "unhex($1)", NULL},
    {"GENERATE_ARRAY", 2, 3, GSQL_IS_INTEGERS, 0, "generate_series($*)", NULL},
    {"GREATEST", 1, MANY, ALL, GSQL_ALIKE,
     "CASE WHEN $n THEN NULL ELSE greatest($*) END", NULL},
    {"IEEE_DIVIDE", 2, 2, F, 0, "(($1)::DOUBLE / ($2)::DOUBLE)", NULL},
    {"IF", 3, 3, A2, 0, "CASE WHEN $1 THEN $2 ELSE $3 END", NULL},
    {"IFNULL", 2, 2, ALL, GSQL_ALIKE, "coalesce($1, $2)", NULL},
    {"INSTR", 2, 2, I, TXT, "instr($1, $2)", NULL},
    {"IS_INF", 1, 1, B, 0, "isinf($1)", NULL},
    {"IS_NAN", 1, 1, B, 0, "isnan($1)", NULL},
    {"JSON_EXTRACT", 2, 2, S, 0, "json_extract($1, $2)::VARCHAR", NULL},
    {"JSON_EXTRACT_SCALAR", 2, 2, S, 0,
     "CASE WHEN " NOT_A_SCALAR " THEN NULL ELSE "
     "json_extract_string($1, $2) END",
     NULL},
    {"JSON_QUERY", 2, 2, S, 0, "json_extract($1, $2)::VARCHAR", NULL},
    {"JSON_VALUE", 2, 2, S, 0,
     "CASE WHEN " NOT_A_SCALAR " THEN NULL ELSE "
     "json_extract_string($1, $2) END",
     NULL},
    {"LEAST", 1, MANY, ALL, GSQL_ALIKE,
     "CASE WHEN $n THEN NULL ELSE least($*) END", NULL},
    {"LEFT", 2, 2, A1, TXT, "left($1, $2)", NULL},
    {"LENGTH", 1, 1, I, 0, "length($1)", "octet_length($1)"},
    {"LN", 1, 1, F, 0, "ln($1)", NULL},
    {"LOG", 1, 2, F, 0, "[(ln($1) / ln($2))|ln($1)]", NULL},
    {"LOG10", 1, 1, F, 0, "log10($1)", NULL},
    {"LOGICAL_AND", 1, 1, B, AGG, "bool_and($1)", NULL},
    {"LOGICAL_OR", 1, 1, B, AGG, "bool_or($1)", NULL},
    {"LOWER", 1, 1, A1, 0, "lower($1)",
     IN_LATIN1("translate(quarry_latin1($1), " ALPHABET_UPPER
               ", " ALPHABET_LOWER ")")},
    {"LPAD", 2, 3, A1, TXT, "lpad($1, ($2)::INTEGER, [$3|' '])", NULL},
    {"LTRIM", 1, 2, A1, TXT, "ltrim($1[, $2])", NULL},
    {"MAP_CONTAINS_KEY", 2, 2, B, 0, "list_contains(map_keys($1), $2)", NULL},
    {"MAP_EMPTY", 1, 1, B, 0, "(cardinality($1) = 0)", NULL},
    {"MAP_ENTRIES", 1, 1, GSQL_IS_ENTRIES, 0, "list_sort(map_entries($1))",
     NULL},
    {"MAP_KEYS", 1, 1, GSQL_IS_KEYS, 0, "list_sort(map_keys($1))", NULL},
    {"MAP_VALUES", 1, 1, GSQL_IS_VALUES, 0,
     "list_transform(list_sort(map_entries($1)), lambda e: e.value)", NULL},
    {"MAX", 1, 1, A1, AGG, "max($1)", NULL},
    {"MD5", 1, 1, Y, 0, "unhex(md5($1))", NULL},
    {"MIN", 1, 1, A1, AGG, "min($1)", NULL},
    {"MOD", 2, 2, I, 0, "($1 % quarry_whole_divisor($2))", NULL},
    {"NORMALIZE", 1, 1, S, 0, "nfc_normalize($1)", NULL},
    {"NULLIF", 2, 2, A1, GSQL_ALIKE, "nullif($1, $2)", NULL},
    {"OCTET_LENGTH", 1, 1, I, 0, "strlen($1)", "octet_length($1)"},
    {"PARSE_DATE", 2, 2, D, GSQL_FORMAT_1, "strptime($2, $1)::DATE", NULL},
    {"PARSE_TIMESTAMP", 2, 2, T, GSQL_FORMAT_1, "strptime($2, $1)::TIMESTAMP",
     NULL},
    {"POW", 2, 2, F, 0, "pow($1, $2)", NULL},
    {"POWER", 2, 2, F, 0, "pow($1, $2)", NULL},
    {"RAND", 0, 0, F, 0, "random()", NULL},
    {"REGEXP_CONTAINS", 2, 2, B, TXT, "regexp_matches($1, $2)", NULL},
    {"REGEXP_EXTRACT", 2, 2, A1, TXT | GSQL_GROUPS,
     "CASE WHEN regexp_matches($1, $2) THEN regexp_extract($1, $2, $g) END",
     NULL},
    {"REGEXP_EXTRACT_ALL", 2, 2, GSQL_IS_LIST, TXT | GSQL_GROUPS,
     "regexp_extract_all($1, $2, $g)", NULL},
    {"REGEXP_REPLACE", 3, 3, A1, TXT, "regexp_replace($1, $2, $3, 'g')", NULL},
    {"REPEAT", 2, 2, A1, TXT, "repeat($1, $2)", NULL},
    {"REPLACE", 3, 3, A1, TXT, "replace($1, $2, $3)", NULL},
    {"REVERSE", 1, 1, A1, TXT, "reverse($1)", NULL},
    {"RIGHT", 2, 2, A1, TXT, "right($1, $2)", NULL},
    {"ROUND", 1, 2, F, 0, "round($1[, ($2)::INTEGER])::DOUBLE", NULL},
    {"RPAD", 2, 3, A1, TXT, "rpad($1, ($2)::INTEGER, [$3|' '])", NULL},
    {"RTRIM", 1, 2, A1, TXT, "rtrim($1[, $2])", NULL},
    {"SAFE_ADD", 2, 2, A1, 0, "try($1 + $2)", NULL},
    {"SAFE_CONVERT_BYTES_TO_STRING", 1, 1, S, 0, "try(decode($1))", NULL},
    {"SAFE_DIVIDE", 2, 2, F, 0, "(($1)::DOUBLE / nullif($2, 0))", NULL},
    {"SAFE_MULTIPLY", 2, 2, A1, 0, "try($1 * $2)", NULL},
    {"SAFE_NEGATE", 1, 1, A1, 0, "try(-($1))", NULL},
    {"SAFE_SUBTRACT", 2, 2, A1, 0, "try($1 - $2)", NULL},
    {"SHA1", 1, 1, Y, 0, "unhex(sha1($1))", NULL},
    {"SHA256", 1, 1, Y, 0, "unhex(sha256($1))", NULL},
    {"SIGN", 1, 1, A1, 0, "sign($1)", NULL},
    {"SIN", 1, 1, F, 0, "sin($1)", NULL},
    {"SINH", 1, 1, F, 0, "sinh($1)", NULL},
    {"SPLIT", 1, 2, GSQL_IS_LIST, TXT, "string_split($1, [$2|','])", NULL},
    {"SQRT", 1, 1, F, 0, "sqrt($1)", NULL},
    {"STARTS_WITH", 2, 2, B, TXT, "starts_with($1, $2)", NULL},
    {"STDDEV", 1, 1, F, AGG, "stddev_samp($d$1)", NULL},
    {"STDDEV_POP", 1, 1, F, AGG, "stddev_pop($d$1)", NULL},
    {"STDDEV_SAMP", 1, 1, F, AGG, "stddev_samp($d$1)", NULL},
    {"STRING", 1, 1, S, 0, "(($1)::VARCHAR || '+00')", NULL},
    {"STRING_AGG", 1, 2, S, AGG, "string_agg($d$1, [$2|',']$o)", NULL},
    {"STRPOS", 2, 2, I, TXT, "strpos($1, $2)", NULL},
    {"SUBSTR", 2, 3, A1, TXT,
     "substr($1, CASE WHEN $2 = 0 THEN 1 ELSE $2 END[, $3])", NULL},
    {"SUBSTRING", 2, 3, A1, TXT,
     "substr($1, CASE WHEN $2 = 0 THEN 1 ELSE $2 END[, $3])", NULL},
    {"SUM", 1, 1, GSQL_IS_TOTAL, AGG, "sum($d$1)", NULL},
    {"TAN", 1, 1, F, 0, "tan($1)", NULL},
    {"TANH", 1, 1, F, 0, "tanh($1)", NULL},
    {"TIMESTAMP", 1, 1, T, 0, "($1)::TIMESTAMP", NULL},
    {"TIMESTAMP_ADD", 2, 2, T, 0, "($1 + $2)", NULL},
    {"TIMESTAMP_DIFF", 3, 3, I, GSQL_PART_3, "date_sub($3, $2, $1)", NULL},
    {"TIMESTAMP_FROM_UNIX_MICROS", 1, 1, T, 0, "make_timestamp($1)", NULL},
    {"TIMESTAMP_FROM_UNIX_MILLIS", 1, 1, T, 0, "make_timestamp($1 * 1000)",
     NULL},
    {"TIMESTAMP_FROM_UNIX_SECONDS", 1, 1, T, 0, "make_timestamp($1 * 1000000)",
     NULL},
    {"TIMESTAMP_MICROS", 1, 1, T, 0, "make_timestamp($1)", NULL},
    {"TIMESTAMP_MILLIS", 1, 1, T, 0, "make_timestamp($1 * 1000)", NULL},
    {"TIMESTAMP_SECONDS", 1, 1, T, 0, "make_timestamp($1 * 1000000)", NULL},
    {"TIMESTAMP_SUB", 2, 2, T, 0, "($1 - $2)", NULL},
    {"TIMESTAMP_TRUNC", 2, 2, T, GSQL_PART_2, "date_trunc($2, $1)::TIMESTAMP",
     NULL},
    {"TO_BASE64", 1, 1, S, 0, "to_base64($1)", NULL},
    {"TO_FLOAT32", 1, 1, GSQL_IS_FLOAT32, 0, "quarry_float32($1)", NULL},
    {"TO_FLOAT64", 1, 1, F, 0, "quarry_float64($1)", NULL},
    {"TO_HEX", 1, 1, S, 0, "lower(hex($1))", NULL},
    {"TO_INT64", 1, 1, I, 0, "quarry_int64($1)", NULL},
    {"TRANSLATE", 3, 3, A1, TXT, "translate($1, $2, $3)", NULL},
    {"TRIM", 1, 2, A1, TXT, "trim($1[, $2])", NULL},
    {"TRUNC", 1, 1, F, 0, "trunc($1)::DOUBLE", NULL},
    {"UNICODE", 1, 1, I, 0, "unicode($1)::BIGINT", NULL},
    {"UNIX_DATE", 1, 1, I, 0, "date_diff('day', '1970-01-01'::DATE, $1)", NULL},
    {"UNIX_MICROS", 1, 1, I, 0, "epoch_us($1)", NULL},
    {"UNIX_MILLIS", 1, 1, I, 0, "epoch_ms($1)", NULL},
    {"UNIX_SECONDS", 1, 1, I, 0, "(epoch_us($1) // 1000000)", NULL},
    {"UPPER", 1, 1, A1, 0, "upper($1)",
     IN_LATIN1("translate(quarry_latin1($1), " ALPHABET_LOWER
               ", " ALPHABET_UPPER ")")},
    {"VARIANCE", 1, 1, F, AGG, "var_samp($d$1)", NULL},
    {"VAR_POP", 1, 1, F, AGG, "var_pop($d$1)", NULL},
    {"VAR_SAMP", 1, 1, F, AGG, "var_samp($d$1)", NULL},
};

const struct gsql_function *gsql_function_find(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (gsql_same_name(name, slice_str(functions[i].name)))
            return &functions[i];
    return NULL;
}

const char *gsql_date_part(struct slice name)
{
    static const char *const parts[][2] = {
        {"MICROSECOND", "microsecond"},
        {"MILLISECOND", "millisecond"},
        {"SECOND", "second"},
        {"MINUTE", "minute"},
        {"HOUR", "hour"},
        {"DAY", "day"},
        {"ISOWEEK", "week"},
        {"MONTH", "month"},
        {"QUARTER", "quarter"},
        {"YEAR", "year"},
        {"ISOYEAR", "isoyear"},
        {"DAYOFYEAR", "dayofyear"},
        {"DAYOFWEEK", "dayofweek"},
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (gsql_same_name(name, slice_str(parts[i][0])))
            return parts[i][1];
    return NULL;
}
