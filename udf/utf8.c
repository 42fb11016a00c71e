/* SPDX-License-Identifier: GPL-2.0-only */
/* UTF-8 checks and encoding. */
#include "utf8.h"

size_t idem_utf8_char(const unsigned char *text, size_t length)
{
    size_t need;
    uint32_t point;

    if (length == 0)
        return 0;
    if (text[0] < 0x80)
        return 1;
    if (text[0] >= 0xC2 && text[0] <= 0xDF)
        need = 2, point = text[0] & 0x1F;
    else if (text[0] >= 0xE0 && text[0] <= 0xEF)
        need = 3, point = text[0] & 0x0F;
    else if (text[0] >= 0xF0 && text[0] <= 0xF4)
        need = 4, point = text[0] & 0x07;
    else
        return 0;
    if (length < need)
        return 0;
    for (size_t i = 1; i < need; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3F);
    }
    if ((need == 3 && (point < 0x800 || (point >= 0xD800 && point <= 0xDFFF))) ||
        (need == 4 && (point < 0x10000 || point > 0x10FFFF)))
        return 0;
    return need;
}

bool idem_utf8_valid(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t at = 0, step; at < length; at += step)
        if ((step = idem_utf8_char(bytes + at, length - at)) == 0)
            return false;
    return true;
}

bool idem_utf8_is_ascii(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return true;
}

bool idem_utf8_is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && (text[i] < '\t' || text[i] > '\r'))
            return false;
    return true;
}

bool idem_utf8_is_wide(const char *text, size_t length)
{
    bool first_is_nul = true, second_is_nul = true;

    if (length < 4 || length % 2 != 0)
        return false;
    for (size_t i = 0; i < length; i += 2) {
        first_is_nul = first_is_nul && text[i] == '\0';
        second_is_nul = second_is_nul && text[i + 1] == '\0';
    }
    return first_is_nul || second_is_nul;
}

size_t idem_utf8_encode(uint32_t point, unsigned char ret_bytes[4])
{
    if (point < 0x80) {
        ret_bytes[0] = (unsigned char)point;
        return 1;
    }
    if (point < 0x800) {
        ret_bytes[0] = (unsigned char)(0xC0 | point >> 6);
        ret_bytes[1] = (unsigned char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        ret_bytes[0] = (unsigned char)(0xE0 | point >> 12);
        ret_bytes[1] = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        ret_bytes[2] = (unsigned char)(0x80 | (point & 0x3F));
        return 3;
    }
    ret_bytes[0] = (unsigned char)(0xF0 | point >> 18);
    ret_bytes[1] = (unsigned char)(0x80 | (point >> 12 & 0x3F));
    ret_bytes[2] = (unsigned char)(0x80 | (point >> 6 & 0x3F));
    ret_bytes[3] = (unsigned char)(0x80 | (point & 0x3F));
    return 4;
}
