/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of qemu-user that counts instructions: the number goes to the file INQ_COUNT at the end.
 * Debian has no header of these functions, so those in use are declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PUBLIC __attribute__((visibility("default")))

struct qemu_plugin_tb;
typedef void (*translated)(uint64_t id, struct qemu_plugin_tb *block);
typedef void (*at_exit)(uint64_t id, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated callback);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int op, void *counter,
                                              uint64_t more);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_atexit_cb(uint64_t id, at_exit callback, void *data);

PUBLIC int qemu_plugin_version = 1;
PUBLIC int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

static uint64_t n_executed;

static void count(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &n_executed, qemu_plugin_tb_n_insns(block));
}

static void print(uint64_t id, void *data)
{
    FILE *file = fopen(getenv("INQ_COUNT"), "w");
    (void)id;
    (void)data;
    if (file != NULL) {
        (void)fprintf(file, "%" PRIu64 "\n", n_executed);
        (void)fclose(file);
    }
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
