/* SPDX-License-Identifier: Apache-2.0 */
/* What is embedded for GPUs loads by the driver's API from R525 (CUDA 12.0) on: by its versions,
 * and by the names of the calls that load it.   code_check [PTX_FILE]   writes the PTX to a file,
 * for ptxas to assemble. Exit 0: all as it must be. */
#include "cuda/driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The oldest driver's language, and the oldest GPU's architecture. */
enum { PTX_MOST = 80, SM_LEAST = 80 };

static int n_failed;

static void expect(bool ok, const char *what)
{
    if (!ok) {
        printf("FAILED: %s\n", what);
        n_failed++;
    }
}

static uint64_t number(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) {
        value = value << 8 | from[i];
    }
    return value;
}

/* ---- the fatbin ------------------------------------------------------------------------------ */

enum { KIND_PTX = 1, KIND_ELF = 2 };

/* Entries as fatbinary(1) writes them: kind, size of the entry's head, size of what follows it, and
 * the architecture at 28. Returns how many there are of machine code for `sm`. */
static int count_code(const unsigned char *fatbin, uint64_t sm)
{
    uint64_t at = number(fatbin + 6, 2);
    uint64_t end = at + number(fatbin + 8, 8);
    int n = 0;
    while (at < end) {
        const unsigned char *entry = fatbin + at;
        n += number(entry, 2) == KIND_ELF && number(entry + 28, 4) == sm;
        at += number(entry + 4, 4) + number(entry + 8, 8);
    }
    return n;
}

static void check_fatbin(void)
{
    const unsigned char *f = inq_cuda_kernels;
    expect(number(f, 4) == 0xba55ed50, "a fatbin begins with its magic number");
    expect(count_code(f, 80) == 1, "machine code for sm_80");
    expect(count_code(f, 90) == 1, "machine code for sm_90");
    expect(count_code(f, 100) == 1, "machine code for sm_100");
}

/* ---- the text -------------------------------------------------------------------------------- */

static void check_ptx(void)
{
    static const char *const names[] = {
#define KERNEL_NAME(name, symbol) ".entry " #symbol "(",
        INQ_GPU_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
    };
    const char *text = (const char *)inq_cuda_ptx;
    const char *version = strstr(text, "\n.version ");
    const char *target = strstr(text, "\n.target sm_");
    char *end = NULL;
    long major = version != NULL ? strtol(version + 10, &end, 10) : 99;
    long minor = end != NULL && *end == '.' ? strtol(end + 1, NULL, 10) : 99;
    expect(major * 10 + minor <= PTX_MOST, "PTX of CUDA 12.0 or older");
    end = NULL;
    long sm = target != NULL ? strtol(target + 12, &end, 10) : 0;
    expect(sm == SM_LEAST && end != NULL && *end == '\n',
           "PTX for sm_80, without what only one architecture has");
    for (size_t i = 0; i < INQ_KERNEL_COUNT; i++) {
        expect(strstr(text, names[i]) != NULL, names[i]);
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */

#define TEXT_OF(name)     #name
#define SYMBOL_TEXT(name) TEXT_OF(name)

/* Exported by libcuda.so.1 of R525 under these names; a newer cuda.h may put later versions of them
 * behind the same calls. */
static const char *const exported[] = {"cuInit",
                                       "cuDriverGetVersion",
                                       "cuGetErrorString",
                                       "cuDeviceGetCount",
                                       "cuDeviceGet",
                                       "cuDeviceGetName",
                                       "cuDeviceGetAttribute",
                                       "cuDevicePrimaryCtxRetain",
                                       "cuDevicePrimaryCtxRelease_v2",
                                       "cuDeviceCanAccessPeer",
                                       "cuCtxGetCurrent",
                                       "cuCtxSetCurrent",
                                       "cuCtxSynchronize",
                                       "cuCtxEnablePeerAccess",
                                       "cuMemAlloc_v2",
                                       "cuMemFree_v2",
                                       "cuMemHostAlloc",
                                       "cuMemHostGetDevicePointer_v2",
                                       "cuMemFreeHost",
                                       "cuMemGetInfo_v2",
                                       "cuMemcpyHtoD_v2",
                                       "cuMemcpyDtoH_v2",
                                       "cuMemcpyDtoDAsync_v2",
                                       "cuMemsetD8Async",
                                       "cuStreamCreate",
                                       "cuStreamDestroy_v2",
                                       "cuStreamQuery",
                                       "cuStreamWaitEvent",
                                       "cuStreamBeginCapture_v2",
                                       "cuStreamEndCapture",
                                       "cuEventCreate",
                                       "cuEventDestroy_v2",
                                       "cuEventRecord",
                                       "cuGraphInstantiateWithFlags",
                                       "cuGraphUpload",
                                       "cuGraphLaunch",
                                       "cuGraphExecDestroy",
                                       "cuGraphDestroy",
                                       "cuLibraryLoadData",
                                       "cuLibraryUnload",
                                       "cuLibraryGetKernel",
                                       "cuKernelGetFunction",
                                       "cuLaunchKernel"};

static void check_calls(void)
{
    static const char *const needed[] = {
#define NEEDED(name) SYMBOL_TEXT(name),
        INQ_CU_CALLS(NEEDED)
#undef NEEDED
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < sizeof exported / sizeof *exported; k++) {
            found = strcmp(needed[i], exported[k]) == 0;
        }
        if (!found) {
            printf("FAILED: R525 does not export %s\n", needed[i]);
            n_failed++;
        }
    }
}

int main(int argc, char **argv)
{
    check_fatbin();
    check_ptx();
    check_calls();
    FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (argc > 1) {
        expect(file != NULL && fputs((const char *)inq_cuda_ptx, file) >= 0 && fclose(file) == 0,
               "writing the PTX");
    }
    printf("%d not as they must be\n", n_failed);
    return n_failed > 0;
}
