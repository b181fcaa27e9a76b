# SPDX-License-Identifier: Apache-2.0
# 64-bit Arm by Debian's cross compiler; zlib, cJSON and CMocka are in INQ_ARM64_ROOT (tests/arm64/run).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(INQ_ARM64_ROOT $ENV{INQ_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${INQ_ARM64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${INQ_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${INQ_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${INQ_ARM64_ROOT}/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E
    LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib:${INQ_ARM64_ROOT}/lib/aarch64-linux-gnu:${INQ_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
