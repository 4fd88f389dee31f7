# SPDX-License-Identifier: Apache-2.0
# Compiler settings. Targets take them from `fusescope_flags` (the core) or `fusescope_qt_flags` (ui, app).

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(FUSESCOPE_CCACHE ccache)
if(FUSESCOPE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${FUSESCOPE_CCACHE}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${FUSESCOPE_CCACHE}")
endif()

# A pool for files that need gigabytes to compile (CUDA, Torch): three gigabytes each, whatever -j says.
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR heavy_jobs "${memory} / 3072")
if(heavy_jobs LESS 1)
    set(heavy_jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS heavy=${heavy_jobs})

add_library(fusescope_flags INTERFACE)
target_compile_features(fusescope_flags INTERFACE cxx_std_20)
target_include_directories(fusescope_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(fusescope_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast
    $<$<BOOL:${FUSESCOPE_WERROR}>:-Werror>)
target_link_options(fusescope_flags INTERFACE LINKER:--as-needed)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 reports these two inside its own standard library once it has inlined std::string and std::vector.
    target_compile_options(fusescope_flags INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()

if(FUSESCOPE_SANITIZE)
    set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(fusescope_flags INTERFACE ${sanitizer_flags})
    target_link_options(fusescope_flags INTERFACE ${sanitizer_flags})
endif()

if(FUSESCOPE_FUZZ)
    target_compile_options(fusescope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_library(fusescope_qt_flags INTERFACE)
target_link_libraries(fusescope_qt_flags INTERFACE fusescope_flags)
target_compile_definitions(fusescope_qt_flags INTERFACE
    QT_NO_KEYWORDS QT_NO_FOREACH QT_NO_CAST_FROM_ASCII QT_USE_QSTRINGBUILDER)
# moc reads <concepts> of GCC 12 before the header that defines this macro, and takes it for a syntax error.
set(CMAKE_AUTOMOC_MOC_OPTIONS "-D_GLIBCXX_VISIBILITY=")
