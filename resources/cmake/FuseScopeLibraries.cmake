# SPDX-License-Identifier: Apache-2.0
# Libraries from outside, found once for every folder. Parts of the core name in LIBS what they use of
#   Threads::Threads ZLIB::ZLIB simdjson::simdjson fmt::fmt PkgConfig::libzip, and PkgConfig::isal where it is found

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
find_package(CLI11 REQUIRED)

option(FUSESCOPE_ISAL "Inflate with ISA-L, three times as fast as zlib, where it is found" ON)
if(FUSESCOPE_ISAL)
    pkg_check_modules(isal IMPORTED_TARGET libisal)
endif()

if(FUSESCOPE_GUI)
    find_package(Qt6 6.4 QUIET COMPONENTS Widgets Charts Svg)
    if(NOT Qt6_FOUND)
        message(FATAL_ERROR
                "Qt 6.4 or newer with Widgets, Charts and Svg was not found; the desktop program needs it.\n"
                "On Debian 12: apt install qt6-base-dev libqt6opengl6-dev qt6-charts-dev qt6-svg-dev\n"
                "Without a desktop program (core and fusescope-cli only): cmake -DFUSESCOPE_GUI=OFF\n"
                "${Qt6_NOT_FOUND_MESSAGE}")
    endif()
    if(FUSESCOPE_TESTS)
        find_package(Qt6 6.4 REQUIRED COMPONENTS Test)
    endif()
endif()

if(FUSESCOPE_LAYOUT)
    pkg_check_modules(graphviz IMPORTED_TARGET libgvc libcgraph)
    if(NOT graphviz_FOUND)
        message(FATAL_ERROR
                "Graphviz (pkg-config: libgvc, libcgraph) was not found; fusescope-layout needs it.\n"
                "On Debian 12: apt install libgraphviz-dev\n"
                "Without the layout worker: cmake -DFUSESCOPE_LAYOUT=OFF")
    endif()
endif()

if(FUSESCOPE_TESTS)
    find_package(GTest REQUIRED)
endif()
if(FUSESCOPE_BENCH)
    find_package(benchmark REQUIRED)
endif()
