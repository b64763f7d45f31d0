/* The choice of the form of `/metrics` by the Accept header (RFC 9110, 12.5.1).
 *
 * A scraper gives the forms that it reads, each with a quality. Only the two
 * that we write matter here; parameters other than `q` are not looked at,
 * because each of the two has been read by all versions of scrapers so far.
 */
#include <stdlib.h>
#include <strings.h>

#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/core/text.h"
#include "cli/console/console.h"
#include "cli/console/console_text.h"

/* The quality that the parameters @rest give; 1 without one. */
static double quality_of(struct slice rest)
{
    while (rest.len) {
        struct slice p = slice_trim(console_cut(&rest, ';'));
        char number[16] = "";
        if (p.len < 3 || p.len - 2 >= sizeof(number) ||
            (p.data[0] != 'q' && p.data[0] != 'Q') || p.data[1] != '=')
            continue;
        for (size_t i = 2; i < p.len; i++)
            number[i - 2] = p.data[i];
        return strtod(number, NULL);
    }
    return 1;
}

static bool is_type(struct slice range, const char *type)
{
    return range.len == strlen(type) &&
           strncasecmp(range.data, type, range.len) == 0;
}

enum metric_text console_metrics_form(const char *accept)
{
    struct slice rest = slice_str(accept ? accept : "");
    double open = 0;
    double text = 0;
    while (rest.len) {
        struct slice entry = console_cut(&rest, ',');
        struct slice range = slice_trim(console_cut(&entry, ';'));
        double q = quality_of(entry);
        if (is_type(range, "application/openmetrics-text"))
            open = MAX_OF(open, q);
        else if (is_type(range, "text/plain") || is_type(range, "text/*") ||
                 is_type(range, "*/*"))
            text = MAX_OF(text, q);
    }
    return open > 0 && open >= text ? METRIC_TEXT_OPENMETRICS
                                    : METRIC_TEXT_PROMETHEUS;
}
