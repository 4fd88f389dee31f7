# SPDX-License-Identifier: Apache-2.0
# The core is a row of parts. Each is an OBJECT library of its own, so that it builds and is tested alone, and all
# of them together are the static library `fusescope_core`.

# A part may use the parts before it only (tests/arch holds this).
set(FUSESCOPE_CORE_PARTS base trace graph io link cost fusion analysis region draw ipc measured report)
set(FUSESCOPE_PARTS "all" CACHE STRING
    "Parts of the core to build; with fewer than all of them no program is built, only parts and their tests")
if(FUSESCOPE_PARTS STREQUAL "all")
    set(FUSESCOPE_PARTS "${FUSESCOPE_CORE_PARTS}") # of this run: the cache keeps "all", also when a part is added
endif()
if(FUSESCOPE_PARTS STREQUAL FUSESCOPE_CORE_PARTS)
    set(FUSESCOPE_ALL_PARTS TRUE)
else()
    set(FUSESCOPE_ALL_PARTS FALSE)
endif()

# fusescope_core_part(<name> SOURCES file... [DEPENDS part...] [LIBS library...])
# Called from core/<name>/CMakeLists.txt. Creates the OBJECT library fusescope_core_<name>.
function(fusescope_core_part name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPENDS;LIBS")
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fusescope_core_part(${name}): what is '${ARG_UNPARSED_ARGUMENTS}'?")
    endif()
    if(NOT name IN_LIST FUSESCOPE_CORE_PARTS)
        message(FATAL_ERROR "fusescope_core_part(${name}): not a part of the core; the parts are ${FUSESCOPE_CORE_PARTS}")
    endif()
    set(target fusescope_core_${name})
    add_library(${target} OBJECT ${ARG_SOURCES})
    target_link_libraries(${target} PRIVATE fusescope_flags PUBLIC ${ARG_LIBS})
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")

    set(closure ${name})
    foreach(part IN LISTS ARG_DEPENDS)
        if(NOT TARGET fusescope_core_${part})
            message(FATAL_ERROR "fusescope_core_part(${name}): the part '${part}' it depends on is not there")
        endif()
        # Usage requirements only (include folders, definitions, libraries); objects are linked by the final target.
        target_link_libraries(${target} PUBLIC fusescope_core_${part})
        get_property(part_closure TARGET fusescope_core_${part} PROPERTY FUSESCOPE_CLOSURE)
        list(APPEND closure ${part_closure})
    endforeach()
    list(REMOVE_DUPLICATES closure)
    set_property(TARGET ${target} PROPERTY FUSESCOPE_CLOSURE "${closure}")
    set_property(GLOBAL APPEND PROPERTY FUSESCOPE_DECLARED_PARTS ${name})

    target_sources(fusescope_core PRIVATE $<TARGET_OBJECTS:${target}>)
    target_link_libraries(fusescope_core PUBLIC ${ARG_LIBS})
    target_include_directories(fusescope_core PUBLIC $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
endfunction()

# fusescope_link_parts(<target> part...)
# Links the objects of the parts and of every part they depend on.
function(fusescope_link_parts target)
    set(closure)
    foreach(part IN LISTS ARGN)
        if(NOT TARGET fusescope_core_${part})
            message(FATAL_ERROR "${target}: the part '${part}' of the core is not there")
        endif()
        get_property(part_closure TARGET fusescope_core_${part} PROPERTY FUSESCOPE_CLOSURE)
        list(APPEND closure ${part_closure})
    endforeach()
    list(REMOVE_DUPLICATES closure)
    foreach(part IN LISTS closure)
        target_link_libraries(${target} PRIVATE fusescope_core_${part})
    endforeach()
endfunction()
