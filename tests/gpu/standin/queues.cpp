/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues: bounded, and looked at in order. */
#include "standin.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

namespace
{

struct Queue {
    std::deque<standin::Command> commands;
};

struct Device {
    std::map<size_t, Queue> queues;
    size_t n_streams = 0;
    size_t pending = 0;
};

/* One lock for all: what is tested is the order, not the speed. */
struct Machine {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<int, Device> devices;
};

Machine &machine()
{
    static Machine *made = new Machine; /* threads of the pool outlive everything */
    return *made;
}

bool can_start(const standin::Command &c)
{
    return c.kind == standin::Command::WAIT ? c.recording->done : !c.stream->running;
}

void pump(Machine &m);

void finish(Machine &m, const standin::Command &c)
{
    c.stream->pending--;
    m.devices[c.stream->device].pending--;
    m.changed.notify_all();
}

void begin(Machine &m, standin::Command c)
{
    if (c.kind != standin::Command::WORK) {
        if (c.kind == standin::Command::RECORD) {
            c.recording->done = true;
        }
        finish(m, c);
        return;
    }
    c.stream->running = true;
    standin::start([&m, c = std::move(c)] {
        c.work();
        std::lock_guard<std::mutex> lock(m.mutex);
        c.stream->running = false;
        finish(m, c);
        pump(m);
    });
}

/* Begins what can begin at the heads of all queues, until nothing more can. */
void pump(Machine &m)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (auto &device : m.devices) {
            for (auto &queue : device.second.queues) {
                std::deque<standin::Command> &commands = queue.second.commands;
                while (!commands.empty() && can_start(commands.front())) {
                    standin::Command c = std::move(commands.front());
                    commands.pop_front();
                    begin(m, std::move(c));
                    moved = true;
                }
            }
        }
    }
}

} // namespace

/* A driver reads CUDA_DEVICE_MAX_CONNECTIONS: 1 to 32, 8 unless told. */
size_t standin::hardware_queues()
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long asked = text != nullptr ? strtol(text, nullptr, 10) : 8;
    const long n = asked < 1 ? 1 : asked > 32 ? 32 : asked;
    return options().queues > 0 ? options().queues : static_cast<size_t>(n);
}

size_t standin::next_queue(int device)
{
    Machine &m = machine();
    std::lock_guard<std::mutex> lock(m.mutex);
    return m.devices[device].n_streams++ % hardware_queues();
}

void standin::submit(Command command)
{
    Machine &m = machine();
    std::unique_lock<std::mutex> lock(m.mutex);
    Device &d = m.devices[command.stream->device];
    Queue &q = d.queues[command.stream->queue];
    m.changed.wait(lock, [&q] { return q.commands.size() < options().depth; });
    command.stream->pending++;
    d.pending++;
    q.commands.push_back(std::move(command));
    pump(m);
}

bool standin::idle(const Stream *stream)
{
    std::lock_guard<std::mutex> lock(machine().mutex);
    return stream->pending == 0;
}

void standin::drain(int device)
{
    Machine &m = machine();
    std::unique_lock<std::mutex> lock(m.mutex);
    m.changed.wait(lock, [&m, device] { return m.devices[device].pending == 0; });
}

/* ---- options ----------------------------------------------------------------------------------
 */

namespace
{

bool take_number(const std::string &word, const char *key, double *value)
{
    const std::string prefix = std::string(key) + "=";
    if (word.compare(0, prefix.size(), prefix) != 0) {
        return false;
    }
    *value = strtod(word.c_str() + prefix.size(), nullptr);
    return true;
}

void take_word(standin::Options &o, const std::string &word)
{
    const std::map<std::string, bool *> flags = {
        {"none", &o.none},
        {"old", &o.old},
        {"sm75", &o.sm75},
        {"nogreen", &o.nogreen},
        {"nopeer", &o.nopeer},
        {"refuse_capture", &o.refuse_capture},
        {"refuse_graph", &o.refuse_graph},
        {"refuse_fatbin", &o.refuse_fatbin},
        {"late_refusal", &o.late_refusal},
        {"corrupt", &o.corrupt},
    };
    double value = 0;
    const auto flag = flags.find(word);
    if (flag != flags.end()) {
        *flag->second = true;
    } else if (take_number(word, "devices", &value)) {
        o.devices = static_cast<int>(value);
    } else if (take_number(word, "sms", &value)) {
        o.sms = static_cast<unsigned>(value);
    } else if (take_number(word, "queues", &value)) {
        o.queues = static_cast<size_t>(value);
    } else if (take_number(word, "least_queues", &value)) {
        o.least_queues = static_cast<size_t>(value);
    } else if (take_number(word, "lonely", &value)) {
        o.lonely = static_cast<int>(value);
    } else if (take_number(word, "depth", &value)) {
        o.depth = static_cast<size_t>(value);
    } else if (take_number(word, "drift", &value)) {
        o.drift_ppm = value;
    } else if (take_number(word, "memory", &value)) {
        o.most_bytes = static_cast<size_t>(value);
    } else if (!word.empty()) {
        abort(); /* a test asks for what is not there */
    }
}

standin::Options read_options()
{
    standin::Options o;
    const char *text = getenv("INQ_STANDIN");
    std::string words = text != nullptr ? text : "";
    for (size_t at = 0; at <= words.size();) {
        size_t end = words.find(',', at);
        end = end == std::string::npos ? words.size() : end;
        take_word(o, words.substr(at, end - at));
        at = end + 1;
    }
    return o;
}

} // namespace

void standin::misuse(const char *what)
{
    (void)fprintf(stderr, "stand-in: misuse: %s\n", what);
    abort();
}

const standin::Options &standin::options()
{
    static const Options read = read_options();
    return read;
}
