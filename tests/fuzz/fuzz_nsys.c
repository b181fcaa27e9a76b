/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems exports. Bytes that begin as a database does are one; others are a plan of one:
 *     n, then n times {where, where, what}: bytes of the file that are changed
 *     rows of ROW_BYTES: the table, then a byte a column
 * so that every plan is a database that the reader gets into, some of them damaged. */
#ifndef INQ_HAVE_SQLITE

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}

#else

#include "fuzz_reader.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_COLUMNS = 8,
    ROW_BYTES = 1 + MAX_COLUMNS,
    MAX_ROWS = 64,
    FLIP_BYTES = 3,
    MAX_FLIPS = 16
};

static const struct {
    const char *name, *columns;
    int n;
} tables[] = {
    {"StringIds", "id INTEGER PRIMARY KEY, value TEXT", 2},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName", 8},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start, end, deviceId, streamId, correlationId, globalPid",
     6},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start, end, deviceId, streamId, correlationId, globalPid, copyKind", 7},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "start, end, deviceId, streamId, correlationId, globalPid", 6},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start, end, deviceId, streamId, correlationId, globalPid, syncType", 7},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId", 5},
    {"NVTX_EVENTS", "start, end, globalTid, text, textId, eventType", 6},
    {"ThreadNames", "globalTid, nameId", 2},
    {"TARGET_INFO_GPU", "id, name, smCount", 3},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs", 1},
    {"TARGET_INFO_SYSTEM_ENV", "name, value", 2},
};
#define N_TABLES (sizeof tables / sizeof *tables)

/* A value: mostly a small number, also processes, times, texts, and what a column cannot hold. */
static void put_value(char *sql, size_t size, uint8_t byte)
{
    static const char *const odd[] = {"NULL",
                                      "'gemm'",
                                      "'ncclDevKernel_AllReduce_Sum_f32_RING_LL'",
                                      "'ProfilerStep#3'",
                                      "x'00ff00'",
                                      "1e300",
                                      "-1",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "'Hostname'",
                                      "''",
                                      "3000000000000000000"};
    size_t len = strlen(sql);
    const char *comma = sql[len - 1] == '(' ? "" : ", ";
    if (byte < 128) {
        (void)snprintf(sql + len, size - len, "%s%d", comma, byte);
    } else if (byte < 192) {
        (void)snprintf(sql + len, size - len, "%s%lld", comma,
                       (long long)(byte & 7) << 24 | (byte >> 3 & 7));
    } else if (byte < 224) {
        (void)snprintf(sql + len, size - len, "%s%d", comma, (byte & 31) * 1000);
    } else {
        (void)snprintf(sql + len, size - len, "%s%s", comma, odd[(byte & 31) % 12]);
    }
}

static void add_row(sqlite3 *db, const uint8_t *row)
{
    char sql[1024];
    size_t table = row[0] % N_TABLES;
    (void)snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO %s VALUES (", tables[table].name);
    for (int c = 0; c < tables[table].n; c++) {
        put_value(sql, sizeof sql, row[1 + c]);
    }
    strcat(sql, ")");
    (void)sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static unsigned char *make(const uint8_t *data, size_t size, sqlite3_int64 *n)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        abort();
    }
    (void)sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    for (size_t t = 0; t < N_TABLES; t++) {
        char sql[256];
        (void)snprintf(sql, sizeof sql, "CREATE TABLE %s (%s)", tables[t].name, tables[t].columns);
        (void)sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    for (size_t i = 0; i < MAX_ROWS && (i + 1) * ROW_BYTES <= size; i++) {
        add_row(db, data + i * ROW_BYTES);
    }
    (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    unsigned char *image = sqlite3_serialize(db, "main", n, 0);
    (void)sqlite3_close(db);
    return image;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char magic[] = "SQLite format 3";
    if (size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0) {
        fuzz_both_ways(&inq_reader_nsys, data, size);
        return 0;
    }
    size_t flips = size > 0 ? data[0] % MAX_FLIPS : 0;
    size_t head = 1 + flips * FLIP_BYTES;
    if (head > size) {
        return 0;
    }
    sqlite3_int64 n = 0;
    unsigned char *image = make(data + head, size - head, &n);
    for (size_t i = 0; i < flips && image != NULL; i++) {
        const uint8_t *flip = data + 1 + i * FLIP_BYTES;
        size_t at = (size_t)flip[0] << 8 | flip[1];
        image[at % (size_t)n] ^= flip[2];
    }
    if (image != NULL) {
        fuzz_both_ways(&inq_reader_nsys, image, (size_t)n);
    }
    sqlite3_free(image);
    return 0;
}

#endif
