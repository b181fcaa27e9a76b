/* SPDX-License-Identifier: Apache-2.0 */
/* From paths as the user gave them to the files behind them. */
#ifndef INQ_INGEST_DISCOVER_H
#define INQ_INGEST_DISCOVER_H

#include "base/limits.h"
#include "base/arena.h"
#include "base/hash.h"
#include "ingest/source/source.h"
#include "inquest/ingest.h"

struct inq_discovered_file {
    const char *path;
    uint64_t size;
    const char *reason;          /* why it is not to be read; NULL: read it */
    struct inq_source_part part; /* where its bytes are */
    const char *cut;             /* why only its beginning could be had; NULL: it is whole */
    uint8_t level;               /* of archives that it is in */
    bool is_archive;             /* found to be one: its members are files of the walk */
};

struct inq_discovered_folder {
    const char *path;
    int level; /* below the path that was given */
};

/* All-zero is a valid empty walk. */
struct inq_discovery {
    size_t n;
    struct inq_discovered_file
        *files;        /* sorted by path, every file once; members of archives behind */
    uint64_t left_out; /* files past the most that are taken */
    size_t most;       /* files that are taken; 0: INQ_MAX_FILES */
    const struct inq_ingest_options *options; /* told of pipes that are waited for; may be NULL */
    /* the rest is the walk's own */
    struct inq_arena arena;                        /* paths, reasons */
    struct inq_map seen;                           /* folders and files met, by what they are */
    struct inq_discovered_folder *folders, *links; /* still to enter, to follow */
    size_t n_folders, n_links, cap, cap_folders, cap_links;
    char **streams; /* contents of pipes that were given */
    size_t n_streams, cap_streams;
    int spool_fd;        /* unlinked file of archives that had to be decompressed ... */
    bool has_spool;      /* ... if there are any */
    uint64_t spool_size; /* bytes in it */
};

/* Adds every file under `paths`: files as given, folders recursively. A file or folder that can be
 * reached in several ways is taken once, by links only when there is no other way. Hidden folders
 * and what is no regular file are listed with a reason; a pipe that is given itself is read into
 * memory, and so is standard input, "-"; as long as nobody has written to it this waits, and
 * options->progress is called. The result does not depend on the order of
 * `paths`. Fails with INQ_NOT_FOUND when one of `paths` does not exist, INQ_NOMEM, INQ_CANCELLED,
 * What is past INQ_MAX_FILES is counted in walk->left_out. inq_discovery_release in any case. */
int inq_discover_paths(const char *const *paths, size_t n, struct inq_discovery *walk,
                       struct inq_err *err);
/* Lists one more file, whose content is in memory. The files are to be added in the order of their
 * names. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_discovery_add_memory(struct inq_discovery *walk, const char *name, const void *bytes,
                             size_t n, struct inq_err *err);
/* For a file that is an archive: adds its members behind all others, "ARCHIVE/MEMBER". One that is
 * compressed as a whole is decompressed into a file without a name in the folder `temp` (NULL:
 * /tmp), at most half of what is free there. What is wrong with it becomes the file's reason; ""
 * if nothing. Fails with INQ_NOMEM, and what `options`' tick returns but for INQ_LIMIT. */
int inq_discovery_open_archive(struct inq_discovery *walk, size_t file, const char *temp,
                               const struct inq_source_options *options, struct inq_err *err);
void inq_discovery_release(struct inq_discovery *walk);

#endif
