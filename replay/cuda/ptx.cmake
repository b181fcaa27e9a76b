# SPDX-License-Identifier: Apache-2.0
# PTX of any nvcc as PTX of CUDA 12.0, which drivers from R525 on read.   cmake -DPTX=FILE -P ptx.cmake
# The kernels use nothing newer; what newer compilers add are hints (.pragma "used_bytes_mask").
file(READ ${PTX} text)
string(REGEX REPLACE "\n\\.version [0-9.]+" "\n.version 8.0" text "${text}")
string(REGEX REPLACE "\n[ \t]*\\.pragma \"used_bytes_mask[^\n]*" "" text "${text}")
file(WRITE ${PTX} "${text}")
