# Read by cpack for each kind of package. Without these tools cpack makes a Debian package that
# declares no dependencies, and does not fail.
if(CPACK_GENERATOR STREQUAL "DEB")
    foreach(tool dpkg-shlibdeps file)
        find_program(found_${tool} ${tool})
        if(NOT found_${tool})
            message(FATAL_ERROR "A Debian package needs ${tool}, to find what the program "
                                "depends on: apt-get install dpkg-dev file")
        endif()
    endforeach()
endif()
