# SPDX-License-Identifier: Apache-2.0
# A file as a C array, with a 0 after it.   cmake -DIN=FILE -DOUT=FILE.c -DNAME=SYMBOL -P embed.cmake
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Generated from kernels.cu. */
extern const unsigned char ${NAME}[];
_Alignas(16) const unsigned char ${NAME}[] = {
${bytes}0};
")
