/* SPDX-License-Identifier: Apache-2.0 */
/* From paths as the user gave them to the files behind them. */
#ifndef INQ_INGEST_WALK_H
#define INQ_INGEST_WALK_H

#include "base/arena.h"
#include "base/hash.h"
#include "inquest/trace.h"

/* Bounds on what a folder tree can make us hold or follow. */
#define INQ_MAX_FILES  ((size_t)1 << 20)
#define INQ_MAX_LEVELS 64

struct inq_walk_file {
    const char *path;
    uint64_t size;
    const char *reason; /* why it is not to be read; NULL: read it */
    const void *bytes;  /* borrowed content; NULL: it is on disk */
};

struct inq_walk_folder {
    const char *path;
    int level; /* below the path that was given */
};

/* All-zero is a valid empty walk. */
struct inq_walk {
    size_t n;
    struct inq_walk_file *files; /* sorted by path, every file once */
    /* the rest is the walk's own */
    struct inq_arena arena;                  /* paths, reasons */
    struct inq_map seen;                     /* folders and files met, by what they are */
    struct inq_walk_folder *folders, *links; /* still to enter, to follow */
    size_t n_folders, n_links, cap, cap_folders, cap_links;
    char **streams; /* contents of pipes that were given */
    size_t n_streams, cap_streams;
};

/* Adds every file under `paths`: files as given, folders recursively. A file or folder that can be
 * reached in several ways is taken once, by links only when there is no other way. Hidden folders
 * and what is no regular file are listed with a reason; a pipe that is given itself is read into
 * memory. The result does not depend on the order of
 * `paths`. Fails with INQ_NOT_FOUND when one of `paths` does not exist, INQ_NOMEM, INQ_LIMIT past
 * INQ_MAX_FILES. inq_walk_release in any case. */
int inq_walk_paths(const char *const *paths, size_t n, struct inq_walk *walk, struct inq_err *err);
/* Lists one more file, whose content is in memory. The files are to be added in the order of their
 * names. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_walk_add_memory(struct inq_walk *walk, const char *name, const void *bytes, size_t n,
                        struct inq_err *err);
void inq_walk_release(struct inq_walk *walk);

#endif
