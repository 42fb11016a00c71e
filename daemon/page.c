/* SPDX-License-Identifier: GPL-2.0-only */
/* A report as a page for people: no script, no outside asset, readable without colours. */
#include <stdio.h>
#include <string.h>

#include "http.h"
#include "report.h"

static const char head[] =
    "<!doctype html><html lang=en><head><meta charset=utf-8><meta http-equiv=refresh content=10>"
    "<meta name=viewport content='width=device-width,initial-scale=1'><title>idem</title><style>"
    ":root{color-scheme:light "
    "dark;--line:#8884;--soft:#8882;--ok:#2a8a4a;--bad:#c0392b;--bar:#4a7fb5;"
    "--old:#c08a2b}"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .5rem}"
    "p{margin:.3rem 0}small{opacity:.7}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}th{font-weight:600}td.n,th.n{text-align:right;padding-right:1.4rem;font-"
    "variant-numeric:tabular-nums}"
    ".pill{display:inline-block;padding:.05rem "
    ".6rem;border-radius:1rem;color:#fff;background:var(--ok)}"
    ".pill.bad{background:var(--bad)}.bad{color:var(--bad);font-weight:600}"
    ".bars{display:flex;align-items:flex-end;gap:2px;height:8rem;border-bottom:1px solid "
    "var(--line)}"
    ".bars div{flex:1;background:var(--bar);min-height:3px}.bars .ahead{background:var(--line)}"
    ".bars .expired{background:var(--old)}.bars .today{background:var(--ok)}"
    ".key{word-break:break-all;font-family:ui-monospace,monospace;font-size:.9em}"
    "details{margin-top:.5rem}</style></head><body>";

static void size_text(double bytes, char *ret_text, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(ret_text, room, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static void age_text(const json_t *object, char *ret_text, size_t room)
{
    double age = idem_report_number(object, "age");

    if (!json_is_number(json_object_get(object, "age")))
        snprintf(ret_text, room, "never");
    else if (age < 120)
        snprintf(ret_text, room, "%.0f s ago", age);
    else if (age < 7200)
        snprintf(ret_text, room, "%.0f min ago", age / 60);
    else if (age < 172800)
        snprintf(ret_text, room, "%.0f h ago", age / 3600);
    else
        snprintf(ret_text, room, "%.0f days ago", age / 86400);
}

static void add_cell(struct idem_text *text, const char *plain)
{
    idem_text_add(text, "<td>");
    idem_text_add_html(text, plain);
    idem_text_add(text, "</td>");
}

/* {"released": 3, ...} as "3 released"; a list of days as how many of each outcome. */
static void add_outcome(struct idem_text *text, const json_t *task)
{
    const json_t *outcome = json_object_get(task, "outcome");
    bool empty = true;
    const char *name;
    json_t *entry;
    size_t i;

    idem_text_add(text, "<td>");
    json_object_foreach((json_t *)outcome, name, entry) if (json_number_value(entry) != 0)
    {
        idem_text_add(text, "%s%.0f ", empty ? "" : ", ", json_number_value(entry));
        idem_text_add_html(text, name);
        empty = false;
    }
    for (i = 0; i < json_array_size(outcome); i++) {
        const char *what = idem_report_text(json_array_get(outcome, i), "outcome");
        size_t count = 0, first = i;

        for (size_t j = 0; j < json_array_size(outcome); j++)
            if (strcmp(idem_report_text(json_array_get(outcome, j), "outcome"), what) == 0) {
                count++;
                first = j < first ? j : first;
            }
        if (first < i)
            continue;
        idem_text_add(text, "%s%zu ", empty ? "" : ", ", count);
        idem_text_add_html(text, what);
        empty = false;
    }
    idem_text_add(text, "%s</td>", empty ? "nothing to do" : "");
}

static void add_tasks(struct idem_text *text, const json_t *tasks)
{
    char age[32];
    json_t *task;
    size_t i;

    idem_text_add(text, "<h2>Tasks</h2><table><tr><th>task<th>last success<th>did<th class=n>took"
                        "<th class=n>every<th>account</tr>");
    json_array_foreach(tasks, i, task)
    {
        bool overdue = json_is_true(json_object_get(task, "overdue"));

        age_text(task, age, sizeof(age));
        idem_text_add(text, "<tr>");
        add_cell(text, idem_report_text(task, "name"));
        idem_text_add(text, "<td%s>%s%s</td>", overdue ? " class=bad" : "", age,
                      overdue ? " — overdue" : "");
        add_outcome(text, task);
        idem_text_add(text, "<td class=n>%.0f ms</td><td class=n>%.0f s</td>",
                      idem_report_number(task, "duration") * 1000,
                      idem_report_number(task, "interval"));
        add_cell(text, idem_report_text(task, "account"));
        idem_text_add(text, "</tr>");
        if (*idem_report_text(task, "error") != '\0') {
            idem_text_add(text, "<tr><td><td colspan=5 class=bad>%.0f ",
                          idem_report_number(task, "error_number"));
            idem_text_add_html(text, idem_report_text(task, "error"));
            idem_text_add(text, "</tr>");
        }
    }
    idem_text_add(text, "</table>");
}

static void add_days(struct idem_text *text, const json_t *report)
{
    const json_t *days = json_object_get(report, "days");
    double most = 1, rows = 0, bytes = 0, runway = idem_report_number(report, "runway_days");
    char size[32];
    json_t *day;
    size_t i;

    json_array_foreach(days, i, day)
    {
        most = idem_report_number(day, "rows") > most ? idem_report_number(day, "rows") : most;
        rows += idem_report_number(day, "rows");
        bytes += idem_report_number(day, "bytes");
    }
    size_text(bytes, size, sizeof(size));
    idem_text_add(
        text,
        "<h2>Days</h2><p>%zu days, about %.0f records, %s; <span%s>%.0f days ahead</span>; kept "
        "for %.0f days.</p><div class=bars role=img aria-label='records per day'>",
        json_array_size(days), rows, size, runway < 1 ? " class=bad" : "", runway,
        idem_report_number(report, "retention_days"));
    json_array_foreach(days, i, day)
    {
        size_text(idem_report_number(day, "bytes"), size, sizeof(size));
        idem_text_add(
            text, "<div class='%s' style='height:%.1f%%' title='%s: %.0f records, %s, %s'></div>",
            idem_report_text(day, "state"), 100 * idem_report_number(day, "rows") / most,
            idem_report_text(day, "day"), idem_report_number(day, "rows"), size,
            idem_report_text(day, "state"));
    }
    idem_text_add(
        text,
        "</div><p><small>%s to %s (UTC). Green: today; grey: ahead; amber: past its "
        "retention.</small></p><details><summary>as a table</summary><table><tr><th>day<th>"
        "<th class=n>records<th class=n>size</tr>",
        idem_report_text(json_array_get(days, 0), "day"),
        idem_report_text(json_array_get(days, json_array_size(days) - 1), "day"));
    for (i = json_array_size(days); i-- > 0;) {
        day = json_array_get(days, i);
        size_text(idem_report_number(day, "bytes"), size, sizeof(size));
        idem_text_add(text, "<tr><td>%s<td>%s<td class=n>%.0f<td class=n>%s</tr>",
                      idem_report_text(day, "day"), idem_report_text(day, "state"),
                      idem_report_number(day, "rows"), size);
    }
    idem_text_add(text, "</table></details>");
}

static void add_stuck(struct idem_text *text, const json_t *report)
{
    const json_t *records = json_object_get(report, "records");
    const json_t *stuck = json_object_get(report, "stuck");
    char age[32];
    json_t *claim;
    size_t i;

    idem_text_add(text,
                  "<h2>Claims</h2><p>%.0f in progress, %.0f past their lease, %.0f unknown "
                  "<small>(counted up to %d)</small></p>",
                  idem_report_number(records, "in_progress"),
                  idem_report_number(records, "expired"), idem_report_number(records, "unknown"),
                  IDEM_REPORT_COUNT_MAX);
    if (json_array_size(stuck) == 0) {
        idem_text_add(text, "<p>None is stuck.</p>");
        return;
    }
    idem_text_add(text,
                  "<table><tr><th>oldest stuck<th>biz_type<th>key<th class=n>attempt<th>account<th>"
                  "touched</tr>");
    json_array_foreach(stuck, i, claim)
    {
        age_text(claim, age, sizeof(age));
        idem_text_add(text, "<tr>");
        add_cell(text, idem_report_text(claim, "status"));
        add_cell(text, idem_report_text(claim, "biz_type"));
        idem_text_add(text, "<td class=key>");
        idem_text_add_html(text, idem_report_text(claim, "idem_key"));
        idem_text_add(text, "</td><td class=n>%.0f</td>", idem_report_number(claim, "attempt"));
        add_cell(text, idem_report_text(claim, "owner_account"));
        idem_text_add(text, "<td>%s</td></tr>", age);
    }
    idem_text_add(text,
                  "</table><p><small>An unknown claim waits for CALL idem.resolve(biz_type, key, "
                  "'done' | 'failed' | 'retry', json).</small></p>");
}

void idem_page_render(const json_t *report, struct idem_text *text)
{
    bool healthy = json_is_true(json_object_get(report, "healthy"));
    json_t *problem;
    size_t i;

    idem_text_add(text, "%s<h1>idem <span class='pill%s'>%s</span> <span class=pill>", head,
                  healthy ? "" : " bad", healthy ? "healthy" : "not healthy");
    idem_text_add_html(text, idem_report_text(report, "standing"));
    idem_text_add(text, "</span></h1><p>");
    idem_text_add_html(text, idem_report_text(report, "server"));
    if (*idem_report_text(report, "version") != '\0') {
        idem_text_add(text, ", idem ");
        idem_text_add_html(text, idem_report_text(report, "version"));
        idem_text_add(text, ", server ");
        idem_text_add_html(text, idem_report_text(report, "server_version"));
    }
    idem_text_add(text, " <small>as of ");
    idem_text_add_html(text, idem_report_text(report, "time"));
    idem_text_add(text, "</small></p>");
    json_array_foreach(json_object_get(report, "problems"), i, problem)
    {
        idem_text_add(text, "<p class=bad>");
        idem_text_add_html(text, json_string_value(problem));
        idem_text_add(text, "</p>");
    }
    if (json_object_get(report, "tasks") != NULL) {
        add_tasks(text, json_object_get(report, "tasks"));
        add_days(text, report);
        add_stuck(text, report);
    }
    idem_text_add(text, "</body></html>\n");
}
