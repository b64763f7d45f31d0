/* Any bytes as an answer of WebHDFS: they are read or refused, and no entry of
 * a list is a path. */
#include <stdint.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/objects/webhdfs_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make(data, size);
    struct webhdfs_page page;
    struct webhdfs_status status;
    struct webhdfs_exception exception;
    bool yes;
    if (webhdfs_page_parse(bytes, &page, NULL) == 0)
        for (size_t i = 0; i < page.count; i++)
            POST(!strchr(page.entries[i].name, '/'));
    webhdfs_page_close(&page);
    if (webhdfs_status_parse(bytes, &status, NULL) == 0)
        webhdfs_status_close(&status);
    (void)!webhdfs_boolean_parse(bytes, &yes, NULL);
    webhdfs_exception_parse(bytes, &exception);
    POST(strlen(exception.name) < sizeof(exception.name));
    return 0;
}
