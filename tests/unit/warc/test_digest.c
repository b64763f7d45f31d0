/* Digest labels in any dress compare as the bytes they stand for. */
#include <string.h>

#include "mapreduce/warc/digest.h"
#include "tests/lib/check_main.h"

/* sha1 of "abc" in base16 and base32, upper and lower, labelled or bare. */
START_TEST(test_dresses)
{
    static const char *const same[] = {
        "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",
        "SHA-1:vgmt4nsha2awvor6evyxqugcnsonbwe5",
        "sha1=VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",
        "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
        " A9993E364706816ABA3E25717850C26C9CD0D89D ",
        "VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",
        "md5:900150983cd24fb0d6963f7d28e17f72",
        "sha256:"
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha-256:XJ4BNP4PAHH6UQKBIDPF3LRCEOYAGYNDSYLXVHFUCD7WD4QACWWQ====",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        ck_assert_msg(digest_check(slice_str(same[i]), SLICE_LIT("abc")) ==
                          DIGEST_SAME,
                      "%s", same[i]);
    ck_assert_int_eq(digest_check(slice_str(same[0]), SLICE_LIT("abd")),
                     DIGEST_DIFFERENT);
    ck_assert_int_eq(digest_check(slice_str("sha1:short"), SLICE_LIT("abc")),
                     DIGEST_UNKNOWN);
    ck_assert_int_eq(digest_check(slice_str("crc:12345678"), SLICE_LIT("abc")),
                     DIGEST_UNKNOWN);
    ck_assert_int_eq(digest_check(SLICE_EMPTY, SLICE_LIT("abc")),
                     DIGEST_UNKNOWN);
}

END_TEST

/* A formatted digest parses to the same, for every algorithm. */
START_TEST(test_there_and_back)
{
    for (int k = DIGEST_MD5; k <= DIGEST_SHA512; k++) {
        struct digest a;
        struct digest b;
        char text[DIGEST_TEXT_MAX];
        size_t n;
        digest_of((enum digest_kind)k, SLICE_LIT("some bytes"), &a);
        n = digest_format(&a, text);
        ck_assert_uint_eq(n, strlen(text));
        ck_assert_msg(digest_parse(slice_str(text), &b), "%s", text);
        ck_assert(digest_eq(&a, &b));
    }
}

END_TEST

TEST_MAIN("digest", test_dresses, test_there_and_back)
