/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/source/codec.h"

#include <string.h>

static const struct inq_codec *const codecs[] = {&inq_codec_gzip, &inq_codec_frames,
                                                 &inq_codec_utf16};

static int read_layer(struct inq_unpack_layer *layer, unsigned char *out, size_t cap, size_t *n,
                      struct inq_spans *spans, struct inq_err *err)
{
    size_t left = layer->head_n - layer->head_used;
    size_t part = left < cap ? left : cap;
    memcpy(out, layer->head + layer->head_used, part);
    layer->head_used += part;
    size_t got = 0;
    int code = INQ_OK;
    if (part < cap) {
        code = layer->codec->read(layer->state, out + part, cap - part, &got, spans, err);
    }
    for (size_t i = 0; spans != NULL && i < spans->n; i++) {
        spans->of[i].from += part;
        spans->of[i].to += part;
    }
    *n = part + got;
    return code;
}

/* A layer as the input of the one inside it. */
static int read_outer(void *ctx, uint64_t offset, unsigned char *buffer, size_t cap,
                      const unsigned char **bytes, size_t *n, struct inq_err *err)
{
    (void)offset;
    *bytes = buffer;
    return read_layer(ctx, buffer, cap, n, NULL, err);
}

static int add_layer(struct inq_unpack *unpack, const struct inq_codec *codec,
                     const unsigned char *head, size_t n, struct inq_err *err)
{
    struct inq_codec_input input = unpack->input;
    if (unpack->n_layers > 0) {
        input = (struct inq_codec_input){.read = read_outer,
                                         .ctx = &unpack->layers[unpack->n_layers - 1],
                                         .no_isal = true}; /* it would have to start again */
    }
    struct inq_unpack_layer *layer = &unpack->layers[unpack->n_layers];
    int code = codec->open(&input, head, n, &layer->state, err);
    if (code == INQ_OK) {
        layer->codec = codec;
        unpack->n_layers++;
        code =
            codec->read(layer->state, layer->head, sizeof layer->head, &layer->head_n, NULL, err);
    }
    return code;
}

int inq_unpack_open(struct inq_unpack *unpack, const struct inq_codec_input *input,
                    struct inq_err *err)
{
    unsigned char first[INQ_CODEC_HEAD];
    const unsigned char *head = first;
    size_t n = 0;
    *unpack = (struct inq_unpack){.input = *input};
    int code = INQ_OK;
    if (input->deflated != NULL) {
        code = add_layer(unpack, &inq_codec_gzip, NULL, 0, err);
    } else {
        code = input->read(input->ctx, 0, first, sizeof first, &head, &n, err);
    }
    while (code == INQ_OK && unpack->n_layers < INQ_MAX_LAYERS) {
        const struct inq_codec *found = NULL;
        if (unpack->n_layers > 0) {
            head = unpack->layers[unpack->n_layers - 1].head;
            n = unpack->layers[unpack->n_layers - 1].head_n;
        }
        for (size_t i = 0; i < sizeof codecs / sizeof *codecs && found == NULL; i++) {
            found = codecs[i]->recognize(head, n) ? codecs[i] : NULL;
        }
        if (found == NULL) {
            break;
        }
        code = add_layer(unpack, found, head, n, err);
    }
    return code;
}

int inq_unpack_read(struct inq_unpack *unpack, unsigned char *out, size_t cap, size_t *n,
                    struct inq_spans *spans, struct inq_err *err)
{
    spans->n = 0;
    return read_layer(&unpack->layers[unpack->n_layers - 1], out, cap, n, spans, err);
}

void inq_unpack_close(struct inq_unpack *unpack)
{
    while (unpack->n_layers > 0) {
        struct inq_unpack_layer *layer = &unpack->layers[--unpack->n_layers];
        layer->codec->close(layer->state);
    }
}
