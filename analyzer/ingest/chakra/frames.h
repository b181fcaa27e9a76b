/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a file, one after the other, whatever it is written in. */
#ifndef INQ_INGEST_CHAKRA_FRAMES_H
#define INQ_INGEST_CHAKRA_FRAMES_H

#include "ingest/chakra/node.h"

struct inq_chakra_frames {
    struct inq_window window;
    struct inq_damage *damage;
    bool json;
    bool begun;     /* something was read: metadata stands in front */
    int64_t offset; /* of what was read last */
    uint64_t left;  /* bytes that looking for a node among damage may still look at */
};

/* `damage` gets what is wrong with the file. Release in any case. Fails as inq_window_init. */
int inq_chakra_frames_init(struct inq_chakra_frames *frames, struct inq_source *source,
                           struct inq_damage *damage, struct inq_err *err);
/* The next node or metadata, valid up to the next call; *found is false at the end. Fails as
 * inq_window_more. */
int inq_chakra_next(struct inq_chakra_frames *frames, struct inq_chakra_node *node, bool *found,
                    struct inq_err *err);
void inq_chakra_frames_release(struct inq_chakra_frames *frames);

/* How sure the first bytes are of this format. */
int inq_chakra_sniff(const char *head, size_t n, const char *path);

#endif
