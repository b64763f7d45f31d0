/* The paper's first two figures, from outside: writes two anchors of a page,
 * reads them back. Usage: program TARGET. */
#include <quarry.h>
#include <stdio.h>
#include <stdlib.h>

static struct err err = ERR_INIT;

static void check(int code)
{
    if (code) {
        fprintf(stderr, "program: %s (%s)\n", err.text, err.hint);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const struct quarry_family_spec family = {"anchor", "versions=3"};
    struct quarry *q;
    struct quarry_table *t;
    struct quarry_mutation *m;
    struct quarry_row *row;

    if (argc != 2)
        return 2;
    check(quarry_open(argv[1], NULL, &q, &err));
    check(quarry_table_create(q, "webtable", &family, 1, NULL, 0, &err));
    check(quarry_table_open(q, "webtable", &t, &err));

    m = quarry_mutation_new(SLICE_LIT("com.cnn.www"));
    quarry_mutation_set(m, "anchor", SLICE_LIT("ca.my.www"), 8000000,
                        SLICE_LIT("CNN.com"));
    quarry_mutation_set(m, "anchor", SLICE_LIT("com.c-span.www"), 9000000,
                        SLICE_LIT("CNN"));
    check(quarry_apply(t, m, NULL, &err));
    quarry_mutation_free(m);

    check(quarry_read_row(t, SLICE_LIT("com.cnn.www"), NULL, &row, &err));
    if (!row || row->cell_count != 2)
        return 1;
    for (size_t i = 2; i-- > 0;)
        printf("%.*s %.*s:%.*s = %.*s\n", SLICE_ARG(row->key),
               SLICE_ARG(row->cells[i].family),
               SLICE_ARG(row->cells[i].qualifier),
               SLICE_ARG(row->cells[i].value));
    quarry_row_free(row);
    quarry_table_close(t);
    quarry_close(q);
    return 0;
}
