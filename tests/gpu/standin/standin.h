/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the stand-in: blocks that execute, and the queues that bring them work. */
#ifndef INQ_STANDIN_H
#define INQ_STANDIN_H

#include "cuda/kernels.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace standin
{

/* What it pretends to be: the words of INQ_STANDIN, "devices=2,queues=8,nogreen". */
struct Options {
    int devices = 1;
    unsigned sms = 16;
    unsigned least_sms = 8;  /* of a partition with co-scheduling; 2 without */
    size_t queues = 0;       /* hardware queues of a device; 0: what the environment asks for */
    size_t least_queues = 0; /* the program must have asked for so many */
    size_t depth = 1024;     /* commands that a queue holds before launching waits */
    double drift_ppm = 0;    /* of device k's timer against the host's clock: k times this */
    size_t most_bytes = 0;   /* memory of a device; 0: enough */
    int lonely = -1;         /* a device that reaches no other and is reached by none */
    bool none = false, old = false, sm75 = false, nogreen = false, nopeer = false;
    bool refuse_capture = false; /* ending a capture fails */
    bool refuse_graph = false;   /* instantiation fails */
    bool refuse_fatbin = false;  /* the driver is older than the compiler */
    bool late_refusal = false; /* and says so only when a kernel is needed, as lazy loading does */
    bool corrupt = false;      /* reductions come out wrong */
};
const Options &options();
/* Ends the program: it did what no driver forgives, or forgives in silence. */
[[noreturn]] void misuse(const char *what);
/* The device whose memory that address is in; -1: the host's. */
int owner_of(const void *address);

/* ---- executing (execute.cpp) ------------------------------------------------------------------
 */

/* Executes a kernel on `device` with every block at once; returns when all are through. */
void execute(int device, inq_gpu_kernel kernel, unsigned blocks, unsigned threads,
             const void *args);
size_t args_size(inq_gpu_kernel kernel);
/* On some thread of the stand-in's own, soon. */
void start(std::function<void()> task);

/* ---- queues (queues.cpp) ----------------------------------------------------------------------
 */

/* One recording of an event; streams that wait for it share it. */
struct Recording {
    bool done = false;
};

struct Stream;

struct Command {
    enum Kind { WORK, RECORD, WAIT } kind = WORK;
    Stream *stream = nullptr;
    std::function<void()> work;
    std::shared_ptr<Recording> recording;
};

/* Commands of a stream start in order; those of all streams of a queue are looked at in order, so
 * that one that cannot start yet holds up the others, as in hardware. */
struct Stream {
    int device = 0;
    size_t queue = 0;
    bool running = false;
    size_t pending = 0; /* commands that are not through */
    size_t capture = 0; /* the last capture that it joined */
    long node = -1;     /* its last command there */
};

/* Puts a command into its stream's queue; waits for room. */
void submit(Command command);
bool idle(const Stream *stream);
/* Waits until nothing of the device is pending. */
void drain(int device);
/* Hardware queues of a device. */
size_t hardware_queues();
/* The queue of the next stream of a device. */
size_t next_queue(int device);

} // namespace standin

#endif
