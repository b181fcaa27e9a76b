# SPDX-License-Identifier: Apache-2.0
# The cuda engine: nvcc makes the kernels, for every architecture in one file, which is built in as
# data; all else is C over the driver's API, loaded at run time. So nothing of CUDA is linked, and
# the program starts where there is none.
set(cuda_driver_sources driver driver_gpu driver_calls cublas result)
list(TRANSFORM cuda_driver_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/cuda/)
list(TRANSFORM cuda_driver_sources APPEND .c)

if(INQUEST_CUDA)
    find_program(INQUEST_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
                 PATH_SUFFIXES bin)
    if(INQUEST_NVCC)
        get_filename_component(cuda_bin ${INQUEST_NVCC} REALPATH)
        get_filename_component(cuda_bin ${cuda_bin} DIRECTORY)
        find_path(INQUEST_CUDA_INCLUDE cuda.h HINTS ${cuda_bin}/../include
                  PATHS /usr/local/cuda/include)
    endif()
    mark_as_advanced(INQUEST_NVCC INQUEST_CUDA_INCLUDE)
endif()

set(INQUEST_CUDA_BUILT OFF CACHE INTERNAL "")
if(INQUEST_CUDA AND INQUEST_NVCC AND INQUEST_CUDA_INCLUDE)
    set(INQUEST_CUDA_BUILT ON CACHE INTERNAL "")
    message(STATUS "CUDA engine: ${INQUEST_NVCC}, sm_${INQUEST_CUDA_ARCHITECTURES}")
    set(cuda_flags -std=c++17 -O3 -fatbin -I${CMAKE_SOURCE_DIR}/include
        -I${CMAKE_CURRENT_SOURCE_DIR} -Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion)
    if(INQUEST_WERROR)
        list(APPEND cuda_flags -Werror all-warnings -Xcompiler=-Werror)
    endif()
    foreach(arch ${INQUEST_CUDA_ARCHITECTURES})
        list(APPEND cuda_flags -gencode arch=compute_${arch},code=sm_${arch})
    endforeach()
    list(GET INQUEST_CUDA_ARCHITECTURES -1 arch)
    list(APPEND cuda_flags -gencode arch=compute_${arch},code=compute_${arch})

    set(cuda_kernels ${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels.cu)
    set(cuda_fatbin ${CMAKE_CURRENT_BINARY_DIR}/kernels.fatbin)
    set(cuda_data ${CMAKE_CURRENT_BINARY_DIR}/kernels_data.c)
    add_custom_command(OUTPUT ${cuda_fatbin}
        COMMAND ${INQUEST_NVCC} ${cuda_flags} -MD -MF ${cuda_fatbin}.d -MT ${cuda_fatbin}
                ${cuda_kernels} -o ${cuda_fatbin}
        DEPENDS ${cuda_kernels} DEPFILE ${cuda_fatbin}.d VERBATIM
        COMMENT "Compiling the kernels for sm_${INQUEST_CUDA_ARCHITECTURES}")
    add_custom_command(OUTPUT ${cuda_data}
        COMMAND ${CMAKE_COMMAND} -DIN=${cuda_fatbin} -DOUT=${cuda_data} -DNAME=inq_cuda_kernels
                -P ${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake
        DEPENDS ${cuda_fatbin} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake VERBATIM
        COMMENT "Embedding the kernels")
    # For drivers that are older than nvcc: text for the oldest architecture, in a version of the
    # language (of CUDA 12.0) that every driver of the engine reads.
    set(cuda_ptx ${CMAKE_CURRENT_BINARY_DIR}/kernels.ptx)
    set(cuda_ptx_data ${CMAKE_CURRENT_BINARY_DIR}/kernels_ptx.c)
    list(GET INQUEST_CUDA_ARCHITECTURES 0 arch)
    add_custom_command(OUTPUT ${cuda_ptx_data}
        COMMAND ${INQUEST_NVCC} -std=c++17 -O3 -ptx -arch=compute_${arch}
                -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_CURRENT_SOURCE_DIR} ${cuda_kernels}
                -o ${cuda_ptx}
        COMMAND ${CMAKE_COMMAND} -DPTX=${cuda_ptx} -P ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ptx.cmake
        COMMAND ${CMAKE_COMMAND} -DIN=${cuda_ptx} -DOUT=${cuda_ptx_data} -DNAME=inq_cuda_ptx
                -P ${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake
        DEPENDS ${cuda_fatbin} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ptx.cmake
                ${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake VERBATIM
        COMMENT "Compiling the kernels to PTX for older drivers")
    list(APPEND INQ_REPLAY_SOURCES ${cuda_data} ${cuda_ptx_data})
    target_compile_definitions(inq_objects PUBLIC INQ_HAVE_CUDA=1)
    target_link_libraries(inq_objects PUBLIC ${CMAKE_DL_LIBS})
    set_source_files_properties(${cuda_driver_sources} PROPERTIES
        COMPILE_OPTIONS "-isystem${INQUEST_CUDA_INCLUDE}")
else()
    message(STATUS "CUDA engine: not built")
    list(REMOVE_ITEM INQ_REPLAY_SOURCES ${cuda_driver_sources})
endif()
