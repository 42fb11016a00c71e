/* SPDX-License-Identifier: GPL-2.0-only */
/* Raising errors, also while the library is loaded without its plugin. */
#include "raise.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The server's own symbol instead of the service of the same name: service pointers are filled only
   once the library is installed as a plugin, and "the plugin is missing" must be said without it.
 */
extern void my_printf_error(unsigned int number, const char *format, unsigned long flags, ...)
    __attribute__((weak));

void idem_raise(unsigned int number, const char *format, ...)
{
    char text[512]; /* MYSQL_ERRMSG_SIZE */
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (my_printf_error != NULL)
        my_printf_error(number, "%s", 0, text);
}
