# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the packages made of it.
include(CMakePackageConfigHelpers)

install(TARGETS inquest inquest_static inquest_shared
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET inquest_mpi)
    install(TARGETS inquest_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
    install(FILES analyzer/man/inquest-mpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT mpi)
endif()
install(DIRECTORY include/inquest DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
file(GLOB man_commands CONFIGURE_DEPENDS analyzer/man/*.1)
list(FILTER man_commands EXCLUDE REGEX inquest-mpi)
file(GLOB man_library CONFIGURE_DEPENDS analyzer/man/*.3)
file(GLOB man_formats CONFIGURE_DEPENDS analyzer/man/*.5)
file(GLOB man_pages CONFIGURE_DEPENDS analyzer/man/*.7)
install(FILES ${man_commands} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${man_library} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(FILES ${man_formats} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY sample-traces DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN run EXCLUDE)

# Completion scripts come out of the program's own option table.
set(completion_dir ${CMAKE_BINARY_DIR}/completion)
file(MAKE_DIRECTORY ${completion_dir})
add_custom_command(
    OUTPUT ${completion_dir}/inquest ${completion_dir}/_inquest ${completion_dir}/inquest.fish
    COMMAND inquest completion bash > ${completion_dir}/inquest
    COMMAND inquest completion zsh > ${completion_dir}/_inquest
    COMMAND inquest completion fish > ${completion_dir}/inquest.fish
    DEPENDS inquest VERBATIM)
add_custom_target(inquest_completion ALL DEPENDS
    ${completion_dir}/inquest ${completion_dir}/_inquest ${completion_dir}/inquest.fish)
install(FILES ${completion_dir}/inquest
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completion_dir}/_inquest
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completion_dir}/inquest.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# The schemas of its JSON documents, too.
set(schema_dir ${CMAKE_BINARY_DIR}/schema)
set(schema_files "")
file(MAKE_DIRECTORY ${schema_dir})
foreach(document report report-set info compare check check-set baseline fix replay schedule
        schedule-compare lint lint-set truth error)
    set(schema_file ${schema_dir}/inquest-${document}-1.schema.json)
    add_custom_command(OUTPUT ${schema_file} COMMAND inquest schema ${document} > ${schema_file}
                       DEPENDS inquest VERBATIM)
    list(APPEND schema_files ${schema_file})
endforeach()
add_custom_target(inquest_schema ALL DEPENDS ${schema_files})
install(FILES ${schema_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/inquest/schema)

# Found by pkg-config and by find_package(inquest).
set(INQ_PRIVATE_LIBS "-lcjson -lz -lm -l${CMAKE_DL_LIBS} ${OpenMP_C_FLAGS}")
if(ISAL_FOUND)
    string(APPEND INQ_PRIVATE_LIBS " -lisal")
endif()
foreach(library ZSTD:zstd LZ4:lz4 LZMA:lzma BZIP2:bz2 SQLITE:sqlite3)
    string(REPLACE ":" ";" library ${library})
    list(GET library 0 name)
    list(GET library 1 file)
    if(${name}_FOUND)
        string(APPEND INQ_PRIVATE_LIBS " -l${file}")
    endif()
endforeach()
# from the folder of inquest.pc to the prefix: the installed tree may be moved
file(RELATIVE_PATH INQ_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(analyzer/inquest.pc.in inquest.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/inquest.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(analyzer/inquestConfig.cmake.in inquestConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/inquest
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/inquestConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/inquestConfig.cmake ${CMAKE_BINARY_DIR}/inquestConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/inquest)

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME inquest)
set(CPACK_PACKAGE_VENDOR "The inquest authors")
set(CPACK_PACKAGE_CONTACT "The inquest authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package.cmake)
# a package of its own, so that nobody else needs MPI's libraries
if(TARGET inquest_mpi)
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME inquest)
    set(CPACK_DEBIAN_MPI_PACKAGE_NAME inquest-mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_SECTION devel)
    set(CPACK_COMPONENT_MPI_DESCRIPTION "inquest on many machines at once, under MPI")
endif()
include(CPack)
