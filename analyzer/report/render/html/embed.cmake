# SPDX-License-Identifier: Apache-2.0
# Makes the C source that holds the page, its style and its scripts.
#   cmake -DSOURCE=html -DD3=d3.min.js -DWORK=folder -DOUT=html_assets.c -P embed.cmake
# The Content-Security-Policy names the hashes of exactly these scripts and this style, so nothing
# else runs, whatever an input's strings hold.
cmake_minimum_required(VERSION 3.25)

set(scripts core format table verdict timeline_data timeline_draw timeline charts wait_graph sections_failure sections
    fixes compare check main)

# OUT_VAR = the SHA-256 of a file in base64
function(hash_of file out_var)
    file(SHA256 ${file} hex)
    set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    set(text "")
    foreach(at RANGE 0 60 6)
        string(SUBSTRING "${hex}00" ${at} 6 part) # 32 bytes: the last group has two
        math(EXPR bits "0x${part}")
        foreach(shift 18 12 6 0)
            math(EXPR index "(${bits} >> ${shift}) & 63")
            string(SUBSTRING "${letters}" ${index} 1 letter)
            string(APPEND text "${letter}")
        endforeach()
    endforeach()
    string(SUBSTRING "${text}" 0 43 text)
    set(${out_var} "${text}=" PARENT_SCOPE)
endfunction()

# Appends a C array with the bytes of a file.
function(embed name file)
    file(READ ${file} hex HEX)
    string(REPEAT ".." 24 line)
    string(REGEX REPLACE "(${line})" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    file(APPEND ${OUT} "static const unsigned char ${name}_bytes[] = {\n${hex}\n};\n"
         "const struct inq_html_asset inq_html_${name} = {${name}_bytes, sizeof ${name}_bytes};\n\n")
endfunction()

file(MAKE_DIRECTORY ${WORK})
set(app "(function () {\n\"use strict\";\n")
foreach(script ${scripts})
    file(READ ${SOURCE}/${script}.js text)
    string(APPEND app "${text}")
endforeach()
string(APPEND app "})();\n")
file(WRITE ${WORK}/app.js "${app}")
file(COPY_FILE ${SOURCE}/page.css ${WORK}/page.css)
file(COPY_FILE ${D3} ${WORK}/d3.js)
foreach(file app.js d3.js page.css)
    file(READ ${WORK}/${file} text)
    string(TOLOWER "${text}" text)
    if(text MATCHES "</(script|style)" OR text MATCHES "\r")
        message(FATAL_ERROR "${file} cannot be put into a page: it holds an end tag or a CR")
    endif()
endforeach()
hash_of(${WORK}/app.js app_hash)
hash_of(${WORK}/d3.js d3_hash)
hash_of(${WORK}/page.css style_hash)
file(READ ${SOURCE}/page.html page)
string(CONCAT policy "default-src 'none'; script-src 'sha256-${d3_hash}' 'sha256-${app_hash}'; "
       "style-src 'sha256-${style_hash}'; base-uri 'none'; form-action 'none'")
string(REPLACE "@CSP@" "${policy}" page "${page}")
file(WRITE ${WORK}/page.html "${page}")

file(WRITE ${OUT} "/* Made by embed.cmake. */\n#include \"report/render/html/html.h\"\n\n")
embed(page ${WORK}/page.html)
embed(style ${WORK}/page.css)
embed(d3 ${WORK}/d3.js)
embed(app ${WORK}/app.js)
