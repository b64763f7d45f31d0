/* Operations of the machine on rows of a table; see vm.h. A program that only
 * looks up columns reads them from the record itself: cells become values when
 * the program reads them, and no map of the row is made. */
#include "base/core/panic.h"
#include "sawzall-lite/machine/vm.h"

static bool is_column(const struct saw_cell *c, struct slice name)
{
    size_t n = c->family.len;

    return name.len == n + 1 + c->qualifier.len &&
           memcmp(name.data, c->family.data, n) == 0 && name.data[n] == ':' &&
           (c->qualifier.len == 0 ||
            memcmp(name.data + n + 1, c->qualifier.data, c->qualifier.len) ==
                0);
}

static size_t find_column(const struct saw_row *row, struct slice name)
{
    size_t i;

    for (i = 0; i < row->cell_count; i++) {
        if (is_column(&row->cells[i], name))
            break;
    }
    return i;
}

static enum saw_status
lazy_cell(struct saw_vm *vm, struct slice column, union saw_slot *to)
{
    size_t i = find_column(vm->row, column);

    if (i == vm->row->cell_count)
        return saw_undef(&vm->ctx, "the row has no column \"%.*s\"",
                         SLICE_ARG(column));
    to->s = saw_bytes_of(&vm->ctx, vm->row->cells[i].value);
    return to->s ? SAW_OK : SAW_FAIL;
}

enum saw_status
saw_op_column(struct saw_vm *vm, struct slice column, union saw_slot *to)
{
    const struct saw_row *row = vm->row;
    size_t from = find_column(row, column);
    size_t end = from;
    struct saw_array *a;

    if (from == row->cell_count)
        return saw_undef(&vm->ctx, "the row has no column \"%.*s\"",
                         SLICE_ARG(column));
    while (end < row->cell_count && is_column(&row->cells[end], column))
        end++;
    a = saw_array_new(&vm->ctx, end - from);
    for (size_t i = from; a && i < end; i++) {
        a->items[i - from].t = saw_run_cell(&vm->ctx, &row->cells[i]);
        if (!a->items[i - from].t)
            return SAW_FAIL;
    }
    to->a = a;
    return a ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_cell_of(struct saw_vm *vm,
                               const struct saw_tuple *row,
                               const struct saw_str *column,
                               union saw_slot *to)
{
    union saw_slot key = {.s = column};
    struct saw_map_entry *e;

    if (vm->lazy_row)
        return lazy_cell(vm, saw_str_slice(column), to);
    e = saw_map_find(row->fields[1].m, vm->row_type->fields[1].type, key);
    if (!e || e->value.a->len == 0)
        return saw_undef(&vm->ctx, "the row has no column \"%.*s\"",
                         SLICE_ARG(saw_str_slice(column)));
    to->s = e->value.a->items[0].t->fields[1].s;
    return SAW_OK;
}
