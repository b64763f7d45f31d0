/* Any bytes as a list of rules, and as a capture to be judged by it. */
#include <stddef.h>
#include <stdint.h>

#include "base/core/panic.h"
#include "web/policy/archive_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = slice_make(data, size);
    struct archive_policy *p = archive_policy_new();
    struct archive_subject s = {.surt = text, .robots = text, .head = text};
    struct slice reason;
    archive_policy_honour_noarchive(p);
    archive_policy_honour_robots(p, "archiver");
    if (archive_policy_add_robots(p, SLICE_LIT("example.a"), 0, text, NULL))
        PRE(p != NULL);
    s.row = SLICE_LIT("example.a/b/c?d");
    if (archive_policy_read(p, text, "list", NULL) != 0 ||
        !archive_policy_allows(p, &s, &reason))
        PRE(p != NULL);
    s.surt = slice_sub(text, size / 2, size);
    (void)archive_policy_allows(p, &s, &reason);
    archive_policy_free(p);
    return 0;
}
