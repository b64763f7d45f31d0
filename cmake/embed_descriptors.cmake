# Write the file IN, a FileDescriptorSet, as the C source OUT, which defines
# descriptors_all() of bigtable/gateway/descriptors.h.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "/* Made by cmake/embed_descriptors.cmake. */
#include \"bigtable/gateway/descriptors.h\"

static const unsigned char bytes[] = {
${bytes}
};

struct slice descriptors_all(void)
{
    return slice_make((const char *)bytes, sizeof(bytes));
}
")
