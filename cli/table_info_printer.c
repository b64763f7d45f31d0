/* A table, or a snapshot of one, as a sheet: its families with their groups and
 * garbage collection, or its tablets with their sizes.
 */
#include "cli/table_info_printer.h"

#include "base/core/macros.h"
#include "bigtable/quarry.h"
#include "cli/table_printer.h"

void table_print_families(const struct quarry_table_info *info,
                          enum cli_format format)
{
    static const struct sheet_column columns[] = {{"family", SHEET_TEXT},
                                                  {"group", SHEET_TEXT},
                                                  {"gc", SHEET_TEXT},
                                                  {"aggregate", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < info->family_count; i++) {
        const struct quarry_family_info *f = &info->families[i];
        sheet_add_str(&s, f->name);
        sheet_add_str(&s, f->group);
        sheet_add_str(&s, format == FORMAT_TEXT && !f->gc[0]
                              ? "keeps everything"
                              : f->gc);
        sheet_add_str(&s, f->aggregate);
    }
    sheet_print(&s, format);
    sheet_close(&s);
}

void table_print_tablets(const struct quarry_table_info *info,
                         enum cli_format format)
{
    static const struct sheet_column columns[] = {{"tablet", SHEET_NUMBER},
                                                  {"bytes", SHEET_BYTES},
                                                  {"start", SHEET_TEXT},
                                                  {"end", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < info->tablet_count; i++) {
        sheet_add_u64(&s, i + 1);
        sheet_add_u64(&s, info->tablets[i].bytes);
        sheet_add(&s, info->tablets[i].start);
        sheet_add(&s, info->tablets[i].end);
    }
    sheet_print(&s, format);
    sheet_close(&s);
}
