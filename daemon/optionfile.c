/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading my.cnf files: the syntax is the server manual's "Configuring MariaDB with Option Files".
 */
#include "optionfile.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INCLUDES_MAX 10 /* deep; a file that includes itself ends here */

enum group { OTHER_GROUP, SHARED_GROUP, OWN_GROUP };

static bool read_file(const struct idem_optionfile_reader *reader, const char *path, bool required,
                      int depth);

static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static enum group parse_group(char *name)
{
    name[strcspn(name, "]")] = '\0';
    if (strcmp(name, "idemd") == 0)
        return OWN_GROUP;
    return strcmp(name, "client") == 0 || strcmp(name, "client-server") == 0 ||
                   strcmp(name, "client-mariadb") == 0
               ? SHARED_GROUP
               : OTHER_GROUP;
}

/* Takes quotes, escapes and an end-of-line comment out of a value, in place. */
static void unquote(char *value)
{
    static const char escapes[] = "btnrs\\\"'", meanings[] = "\b\t\n\r \\\"'";
    char quote = (char)(*value == '"' || *value == '\'' ? *value : '\0');
    char *from = value + (quote != '\0'), *to = value;

    for (; *from != '\0'; from++) {
        const char *escape;

        if (quote != '\0' ? *from == quote
                          : *from == '#' && (from == value || isspace((unsigned char)from[-1])))
            break;
        if (*from == '\\' && from[1] != '\0' && (escape = strchr(escapes, from[1])) != NULL) {
            *to++ = meanings[escape - escapes];
            from++;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    if (quote == '\0')
        trim(value);
}

static bool include(const struct idem_optionfile_reader *reader, const char *path, char *line,
                    int depth)
{
    bool folder = strncmp(line, "!includedir", 11) == 0;
    char *target = trim(line + (folder ? 11 : 8));
    char pattern[4096];
    glob_t found;
    bool ok = true;

    if (depth >= INCLUDES_MAX) {
        fprintf(stderr, "idemd: %s: too many nested includes\n", path);
        return false;
    }
    if (!folder)
        return read_file(reader, target, true, depth + 1);
    snprintf(pattern, sizeof(pattern), "%s/*.cnf", target);
    if (glob(pattern, 0, NULL, &found) != 0)
        return true;
    for (size_t i = 0; ok && i < found.gl_pathc; i++)
        ok = read_file(reader, found.gl_pathv[i], true, depth + 1);
    globfree(&found);
    return ok;
}

static bool set_option(const struct idem_optionfile_reader *reader, const char *path,
                       const struct stat *info, enum group group, char *line)
{
    char *value = strchr(line, '=');
    bool loose = strncmp(line, "loose-", 6) == 0 || strncmp(line, "loose_", 6) == 0;
    bool secret = false;

    if (value != NULL) {
        *value = '\0';
        value = trim(value + 1);
        unquote(value);
    }
    line = trim(loose ? line + 6 : line);
    if (!reader->set(reader->context, line, value, group == SHARED_GROUP, &secret)) {
        if (group == SHARED_GROUP || loose)
            return true;
        fprintf(stderr, "idemd: %s: there is no option %s\n", path, line);
        return false;
    }
    if (secret && (info->st_mode & S_IROTH) != 0) {
        fprintf(stderr,
                "idemd: %s holds a password and everybody can read it: chmod o-r %s (the password "
                "must be taken for known)\n",
                path, path);
        return false;
    }
    return true;
}

static bool read_lines(const struct idem_optionfile_reader *reader, const char *path, FILE *file,
                       int depth)
{
    enum group group = OTHER_GROUP;
    struct stat info;
    char *line = NULL;
    size_t room = 0;
    bool ok = fstat(fileno(file), &info) == 0;

    if (ok && (info.st_mode & S_IWOTH) != 0) {
        fprintf(stderr, "idemd: %s: everybody can write it; not used\n", path);
        ok = false;
    }
    while (ok && getline(&line, &room, file) >= 0) {
        char *text = trim(line);

        if (*text == '\0' || *text == '#' || *text == ';')
            continue;
        if (*text == '[')
            group = parse_group(text + 1);
        else if (strncmp(text, "!include", 8) == 0)
            ok = include(reader, path, text, depth);
        else if (group != OTHER_GROUP)
            ok = set_option(reader, path, &info, group, text);
    }
    if (line != NULL)
        explicit_bzero(line, room);
    free(line);
    return ok;
}

static bool read_file(const struct idem_optionfile_reader *reader, const char *path, bool required,
                      int depth)
{
    FILE *file = fopen(path, "re");
    bool ok;

    if (file == NULL) {
        if (!required && (errno == ENOENT || errno == EACCES || errno == ENOTDIR))
            return true;
        fprintf(stderr, "idemd: %s: %s\n", path, strerror(errno));
        return false;
    }
    ok = read_lines(reader, path, file, depth);
    fclose(file);
    return ok;
}

bool idem_optionfile_read(const struct idem_optionfile_reader *reader, const char *path,
                          bool required)
{
    return read_file(reader, path, required, 0);
}
