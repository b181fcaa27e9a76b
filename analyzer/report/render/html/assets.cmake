# SPDX-License-Identifier: Apache-2.0
# Finds D3 and makes the source that holds the page of the HTML report. Sets INQ_HTML_ASSETS to that
# source, or to nothing: then there is no HTML report.
set(INQUEST_D3_JS "" CACHE FILEPATH
    "D3, version 5 or later, minified, for the HTML report; empty: that of the package node-d3")
set(INQ_HTML_ASSETS "")
if(NOT INQUEST_HTML)
    return()
endif()
set(d3_js "${INQUEST_D3_JS}")
if(NOT d3_js)
    find_file(INQ_D3_FOUND d3.min.js NO_DEFAULT_PATH PATHS
              /usr/share/nodejs/d3/dist /usr/share/nodejs/d3/build /usr/share/javascript/d3)
    mark_as_advanced(INQ_D3_FOUND)
    if(INQ_D3_FOUND)
        set(d3_js "${INQ_D3_FOUND}")
    endif()
endif()
if(d3_js AND NOT EXISTS "${d3_js}")
    message(FATAL_ERROR "INQUEST_D3_JS: there is no file ${d3_js}")
endif()
if(NOT d3_js)
    message(STATUS "D3 not found (package node-d3): no HTML report")
    return()
endif()
set(html_source ${CMAKE_CURRENT_LIST_DIR})
set(html_work ${CMAKE_CURRENT_BINARY_DIR}/html)
set(INQ_HTML_ASSETS ${html_work}/html_assets.c)
file(GLOB html_parts CONFIGURE_DEPENDS ${html_source}/*.js ${html_source}/page.*)
add_custom_command(
    OUTPUT ${INQ_HTML_ASSETS}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${html_source} -DD3=${d3_js} -DWORK=${html_work}
            -DOUT=${INQ_HTML_ASSETS} -P ${html_source}/embed.cmake
    DEPENDS ${html_parts} ${html_source}/embed.cmake ${d3_js}
    COMMENT "Putting the page of the HTML report together" VERBATIM)
