# SPDX-License-Identifier: Apache-2.0
# Declaring tests, fuzz targets and benchmarks.

include(GoogleTest)

add_library(fusescope_test_paths INTERFACE)
target_compile_definitions(fusescope_test_paths INTERFACE
    FUSESCOPE_SAMPLES_DIR="${PROJECT_SOURCE_DIR}/resources/samples"
    FUSESCOPE_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/data"
    FUSESCOPE_RESOURCES_DIR="${PROJECT_SOURCE_DIR}/resources"
    FUSESCOPE_BIN_DIR="${PROJECT_BINARY_DIR}/bin")

# `cmake --build --target fuzzers` and `--target benchmarks` build just these.
add_custom_target(fuzzers)
add_custom_target(benchmarks)

set(FUSESCOPE_TEST_TIMEOUT 60)
if(FUSESCOPE_SANITIZE)
    set(FUSESCOPE_TEST_TIMEOUT 300)
endif()

# Sets <variable> to whether every part is there. With FUSESCOPE_PARTS, tests of parts left out are left out too;
# otherwise a part that is not there is an error, found when it is linked.
function(fusescope_parts_present variable)
    set(present TRUE)
    foreach(part IN LISTS ARGN)
        if(NOT TARGET fusescope_core_${part} AND NOT FUSESCOPE_ALL_PARTS)
            set(present FALSE)
        endif()
    endforeach()
    set(${variable} ${present} PARENT_SCOPE)
endfunction()

# fusescope_core_test(<name> PARTS part... SOURCES file... [LIBS library...])
# A GoogleTest program test_core_<name> that links the parts (and what they depend on) and nothing else of the core.
function(fusescope_core_test name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PARTS;SOURCES;LIBS")
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fusescope_core_test(${name}): what is '${ARG_UNPARSED_ARGUMENTS}'?")
    endif()
    fusescope_parts_present(present ${ARG_PARTS})
    if(NOT present)
        return()
    endif()
    set(target test_core_${name})
    add_executable(${target} ${ARG_SOURCES})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
    target_link_libraries(${target} PRIVATE fusescope_flags fusescope_test_paths ${ARG_LIBS}
                          GTest::gmock GTest::gtest_main)
    fusescope_link_parts(${target} ${ARG_PARTS})
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX "core.${name}."
                         PROPERTIES TIMEOUT ${FUSESCOPE_TEST_TIMEOUT} LABELS core)
endfunction()

# fusescope_ui_test(<name> [APP] SOURCES file... [LIBS library...])
# A Qt Test program test_ui_<name>, run without a screen and with settings of its own. APP links app/ as well.
function(fusescope_ui_test name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "APP" "" "SOURCES;LIBS")
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fusescope_ui_test(${name}): what is '${ARG_UNPARSED_ARGUMENTS}'?")
    endif()
    set(target test_ui_${name})
    add_executable(${target} ${ARG_SOURCES})
    set_target_properties(${target} PROPERTIES AUTOMOC ON AUTORCC ON
                          RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
    target_link_libraries(${target} PRIVATE fusescope_qt_flags fusescope_test_paths ${ARG_LIBS})
    if(ARG_APP)
        target_link_libraries(${target} PRIVATE fusescope_app)
    endif()
    target_link_libraries(${target} PRIVATE fusescope_ui Qt6::Test)
    add_test(NAME ui.${name} COMMAND ${target})
    set(home "${PROJECT_BINARY_DIR}/tests/home/${name}")
    set_tests_properties(ui.${name} PROPERTIES TIMEOUT 300 LABELS ui ENVIRONMENT
        "QT_QPA_PLATFORM=offscreen;LC_ALL=C.UTF-8;XDG_CONFIG_HOME=${home}/config;XDG_CACHE_HOME=${home}/cache;XDG_DATA_HOME=${home}/data")
endfunction()

# fusescope_fuzz_target(<name> PARTS part... SOURCES file...)
# The sources define LLVMFuzzerTestOneInput. With FUSESCOPE_FUZZ the program is fuzz_<name>, driven by libFuzzer;
# otherwise it is replay_<name>, and a test runs it over every file of tests/fuzz/corpus/<name>/.
function(fusescope_fuzz_target name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PARTS;SOURCES")
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fusescope_fuzz_target(${name}): what is '${ARG_UNPARSED_ARGUMENTS}'?")
    endif()
    fusescope_parts_present(present ${ARG_PARTS})
    if(NOT present)
        return()
    endif()
    set(corpus "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    if(FUSESCOPE_FUZZ)
        set(target fuzz_${name})
        add_executable(${target} ${ARG_SOURCES})
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers ${target})
        set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
    else()
        set(target replay_${name})
        add_executable(${target} ${ARG_SOURCES} "${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp")
        set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
        add_test(NAME fuzz.${name} COMMAND ${target} "${corpus}")
        set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT ${FUSESCOPE_TEST_TIMEOUT} LABELS fuzz)
    endif()
    target_link_libraries(${target} PRIVATE fusescope_flags)
    fusescope_link_parts(${target} ${ARG_PARTS})
endfunction()

# fusescope_bench(<name> PARTS part... SOURCES file... [LIBS library...])
# A Google Benchmark program bench_<name> in bench/ of the build folder. Made only with FUSESCOPE_BENCH.
function(fusescope_bench name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PARTS;SOURCES;LIBS")
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fusescope_bench(${name}): what is '${ARG_UNPARSED_ARGUMENTS}'?")
    endif()
    fusescope_parts_present(present ${ARG_PARTS})
    if(NOT present OR NOT FUSESCOPE_BENCH)
        return()
    endif()
    set(target bench_${name})
    add_executable(${target} ${ARG_SOURCES})
    add_dependencies(benchmarks ${target})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
    target_link_libraries(${target} PRIVATE fusescope_flags fusescope_test_paths ${ARG_LIBS}
                          benchmark::benchmark benchmark::benchmark_main)
    fusescope_link_parts(${target} ${ARG_PARTS})
endfunction()
