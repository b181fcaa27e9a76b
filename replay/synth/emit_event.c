/* SPDX-License-Identifier: Apache-2.0 */
/* One event of the array: numbers, stamps on the host's clock, the capture window. */
#include "synth/emit.h"

#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

void inq_synth_put_text(struct inq_out *out, const char *text)
{
    inq_out_bytes(out, text, strlen(text));
}

void inq_synth_put_int(struct inq_out *out, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? (uint64_t)-value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    inq_out_bytes(out, digits + at, sizeof digits - at);
}

void inq_synth_put_us(const struct synth_emitter *e, int64_t ns)
{
    int64_t us = ns >= 0 ? ns / 1000 : -((-ns + 999) / 1000);
    inq_synth_put_int(e->out, us);
    if (e->spec->ts != INQ_SYNTH_TS_ABS) {
        int64_t rest = ns - us * 1000;
        char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                           (char)('0' + rest % 10)};
        inq_out_bytes(e->out, decimals, sizeof decimals);
    }
}

int64_t inq_synth_local_ns(const struct synth_emitter *e, int64_t t)
{
    int64_t drift = t / 1000 * e->clock.drift_ppb / 1000000;
    return t + e->clock.offset_ns + drift + e->epoch_ns - e->base_ns;
}

/* ---- one event ------------------------------------------------------------------------------- */

void inq_synth_begin_event(struct synth_emitter *e, const char *phase)
{
    inq_synth_put_text(e->out, e->first_event ? "  {\n    \"ph\": \"" : ",\n  {\n    \"ph\": \"");
    inq_synth_put_text(e->out, phase);
    e->first_event = false;
}

bool inq_synth_put_event(struct synth_emitter *e, const struct synth_event *event)
{
    if (event->start_ns < e->from_ns || event->end_ns > e->until_ns) {
        return false;
    }
    inq_synth_begin_event(e, "X\", \"cat\": \"");
    inq_synth_put_text(e->out, event->cat);
    inq_synth_put_text(e->out, "\", \"name\": \"");
    inq_synth_put_text(e->out, event->name);
    if (event->number >= 0) {
        inq_synth_put_int(e->out, event->number);
    }
    inq_synth_put_text(e->out, "\", \"pid\": ");
    inq_synth_put_int(e->out, event->pid);
    inq_synth_put_text(e->out, ", \"tid\": ");
    inq_synth_put_int(e->out, event->tid);
    inq_synth_put_text(e->out, ",\n    \"ts\": ");
    int64_t start = inq_synth_local_ns(e, event->start_ns);
    inq_synth_put_us(e, start);
    inq_synth_put_text(e->out, ", \"dur\": ");
    inq_synth_put_us(e, inq_synth_local_ns(e, event->end_ns) - start);
    inq_synth_put_text(e->out, ",\n    \"args\": {\n      ");
    return true;
}

void inq_synth_end_event(struct synth_emitter *e)
{
    inq_synth_put_text(e->out, "\n    }\n  }");
}

void inq_synth_put_arg(struct synth_emitter *e, const char *key, int64_t value)
{
    inq_synth_put_text(e->out, key);
    inq_synth_put_int(e->out, value);
}

void inq_synth_put_flow(struct synth_emitter *e, const char *phase, const struct synth_event *event,
                        int64_t id)
{
    if (event->start_ns < e->from_ns || event->end_ns > e->until_ns) {
        return;
    }
    inq_synth_begin_event(e, phase);
    inq_synth_put_arg(e, "\", \"id\": ", id);
    inq_synth_put_arg(e, ", \"pid\": ", event->pid);
    inq_synth_put_arg(e, ", \"tid\": ", event->tid);
    inq_synth_put_text(e->out, ", \"ts\": ");
    inq_synth_put_us(e, inq_synth_local_ns(e, event->start_ns));
    inq_synth_put_text(e->out, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    inq_synth_put_text(e->out, *phase == 'f' ? ", \"bp\": \"e\"\n  }" : "\n  }");
}
