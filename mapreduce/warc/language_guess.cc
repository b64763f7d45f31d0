// The only file that sees CLD2, in C++ because that library is. Its header uses
// FILE and includes nothing for it.
#include <cstdio>

extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // C11 headers.
#include "mapreduce/warc/language_guess.h"
#pragma GCC diagnostic pop
}

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <cstring>
#include <string>

// More text says nothing new, and the library counts in int.
static const size_t read_bytes_max = size_t{256} << 10;
// Shorter texts are names and addresses.
static const int text_bytes_min = 24;

// The text up to the last whole character of the first read_bytes_max bytes.
static size_t bytes_to_read(struct slice text)
{
    size_t n = text.len;
    if (n <= read_bytes_max)
        return n;
    n = read_bytes_max;
    while (n > 0 && (static_cast<unsigned char>(text.data[n]) & 0xc0) == 0x80)
        n--;
    return n;
}

// "zh-hant" of the library's "zh-Hant"; old codes by their newer names.
static bool put_code(CLD2::Language language, char *code)
{
    const char *name = CLD2::LanguageCode(language);
    if (std::strcmp(name, "iw") == 0)
        name = "he";
    if (std::strcmp(name, "jw") == 0)
        name = "jv";
    if (std::strlen(name) >= LANGUAGE_CODE_BYTES ||
        std::strncmp(name, "un", 3) == 0 || std::strncmp(name, "xx", 2) == 0)
        return false;
    do
        *code++ = static_cast<char>(*name >= 'A' && *name <= 'Z' ? *name | 0x20
                                                                 : *name);
    while (*name++);
    return true;
}

extern "C" bool language_guess(struct slice text,
                               struct slice declared,
                               char code[LANGUAGE_CODE_BYTES])
{
    std::string hint(declared.len ? declared.data : "",
                     declared.len > 64 ? 64 : declared.len);
    CLD2::CLDHints hints = {hint.c_str(), nullptr, CLD2::UNKNOWN_ENCODING,
                            CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language best[3];
    int percent[3];
    double score[3];
    int text_bytes = 0;
    int valid = 0;
    bool reliable = false;
    size_t n = bytes_to_read(text);
    code[0] = '\0';
    if (n == 0)
        return false;
    CLD2::Language language = CLD2::ExtDetectLanguageSummaryCheckUTF8(
        text.data, static_cast<int>(n), true, &hints, 0, best, percent, score,
        nullptr, &text_bytes, &reliable, &valid);
    if (!reliable || text_bytes < text_bytes_min ||
        static_cast<size_t>(valid) < n)
        return false;
    return put_code(language, code);
}

// ISO 639-1 and 639-3 (and a script that needs none there).
static const char *const codes[][2] = {
    {"aa", "aar"}, {"ab", "abk"}, {"af", "afr"},      {"ak", "aka"},
    {"am", "amh"}, {"ar", "ara"}, {"as", "asm"},      {"ay", "aym"},
    {"az", "aze"}, {"ba", "bak"}, {"be", "bel"},      {"bg", "bul"},
    {"bi", "bis"}, {"bn", "ben"}, {"bo", "bod"},      {"br", "bre"},
    {"bs", "bos"}, {"ca", "cat"}, {"co", "cos"},      {"cs", "ces"},
    {"cy", "cym"}, {"da", "dan"}, {"de", "deu"},      {"dv", "div"},
    {"dz", "dzo"}, {"el", "ell"}, {"en", "eng"},      {"eo", "epo"},
    {"es", "spa"}, {"et", "est"}, {"eu", "eus"},      {"fa", "fas"},
    {"fi", "fin"}, {"fj", "fij"}, {"fo", "fao"},      {"fr", "fra"},
    {"fy", "fry"}, {"ga", "gle"}, {"gd", "gla"},      {"gl", "glg"},
    {"gn", "grn"}, {"gu", "guj"}, {"gv", "glv"},      {"ha", "hau"},
    {"he", "heb"}, {"hi", "hin"}, {"hr", "hrv"},      {"ht", "hat"},
    {"hu", "hun"}, {"hy", "hye"}, {"ia", "ina"},      {"id", "ind"},
    {"ie", "ile"}, {"ig", "ibo"}, {"ik", "ipk"},      {"is", "isl"},
    {"it", "ita"}, {"iu", "iku"}, {"ja", "jpn"},      {"jv", "jav"},
    {"ka", "kat"}, {"kk", "kaz"}, {"kl", "kal"},      {"km", "khm"},
    {"kn", "kan"}, {"ko", "kor"}, {"ks", "kas"},      {"ku", "kur"},
    {"ky", "kir"}, {"la", "lat"}, {"lb", "ltz"},      {"lg", "lug"},
    {"ln", "lin"}, {"lo", "lao"}, {"lt", "lit"},      {"lv", "lav"},
    {"mg", "mlg"}, {"mi", "mri"}, {"mk", "mkd"},      {"ml", "mal"},
    {"mn", "mon"}, {"mr", "mar"}, {"ms", "msa"},      {"mt", "mlt"},
    {"my", "mya"}, {"na", "nau"}, {"ne", "nep"},      {"nl", "nld"},
    {"nn", "nno"}, {"no", "nor"}, {"nr", "nbl"},      {"ny", "nya"},
    {"oc", "oci"}, {"om", "orm"}, {"or", "ori"},      {"pa", "pan"},
    {"pl", "pol"}, {"ps", "pus"}, {"pt", "por"},      {"qu", "que"},
    {"rm", "roh"}, {"rn", "run"}, {"ro", "ron"},      {"ru", "rus"},
    {"rw", "kin"}, {"sa", "san"}, {"sd", "snd"},      {"sg", "sag"},
    {"si", "sin"}, {"sk", "slk"}, {"sl", "slv"},      {"sm", "smo"},
    {"sn", "sna"}, {"so", "som"}, {"sq", "sqi"},      {"sr", "srp"},
    {"ss", "ssw"}, {"st", "sot"}, {"su", "sun"},      {"sv", "swe"},
    {"sw", "swa"}, {"ta", "tam"}, {"te", "tel"},      {"tg", "tgk"},
    {"th", "tha"}, {"ti", "tir"}, {"tk", "tuk"},      {"tl", "tgl"},
    {"tn", "tsn"}, {"to", "ton"}, {"tr", "tur"},      {"ts", "tso"},
    {"tt", "tat"}, {"ug", "uig"}, {"uk", "ukr"},      {"ur", "urd"},
    {"uz", "uzb"}, {"ve", "ven"}, {"vi", "vie"},      {"vo", "vol"},
    {"wo", "wol"}, {"xh", "xho"}, {"yi", "yid"},      {"yo", "yor"},
    {"za", "zha"}, {"zh", "zho"}, {"zh-hant", "zho"}, {"zu", "zul"}};

extern "C" const char *language_code_of_3(const char *code)
{
    for (const auto &pair : codes)
        if (std::strcmp(pair[0], code) == 0)
            return pair[1];
    return code;
}
