# SPDX-License-Identifier: Apache-2.0
# Files that programs need at run time are compiled into them, so that a program runs from anywhere.

# fusescope_embed(<target> NAMESPACE <name> FILES file... [BASE folder])
# Adds the bytes of the files to the target. A file is known by its path below BASE (default: resources/).
#   #include "embedded/<name>.h"
#   for (const fusescope::<name>::EmbeddedFile& f : fusescope::<name>::embeddedFiles()) use(f.path, f.bytes);
function(fusescope_embed target)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "NAMESPACE;BASE" "FILES")
    if(NOT ARG_NAMESPACE OR ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fusescope_embed(${target} NAMESPACE name FILES file... [BASE folder])")
    endif()
    if(NOT ARG_BASE)
        set(ARG_BASE "${PROJECT_SOURCE_DIR}/resources")
    endif()
    set(files)
    foreach(file IN LISTS ARG_FILES)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        list(APPEND files "${file}")
    endforeach()

    set(header "${PROJECT_BINARY_DIR}/generated/embedded/${ARG_NAMESPACE}.h")
    set(source "${PROJECT_BINARY_DIR}/generated/embedded/${ARG_NAMESPACE}.cpp")
    set(list_file "${PROJECT_BINARY_DIR}/generated/embedded/${ARG_NAMESPACE}.list")
    set(script "${PROJECT_SOURCE_DIR}/resources/cmake/EmbedFiles.cmake")

    # Rewritten only when the list changes, so that a file added or removed makes the sources anew.
    string(JOIN "\n" list_text ${files})
    file(CONFIGURE OUTPUT "${list_file}" CONTENT "${list_text}\n" @ONLY)

    add_custom_command(
        OUTPUT "${header}" "${source}"
        COMMAND "${CMAKE_COMMAND}" -DNAMESPACE=${ARG_NAMESPACE} "-DBASE=${ARG_BASE}" "-DLIST_FILE=${list_file}"
                "-DHEADER=${header}" "-DSOURCE=${source}" -P "${script}"
        DEPENDS ${files} "${list_file}" "${script}"
        COMMENT "Embedding ${ARG_NAMESPACE}"
        VERBATIM)
    # Whoever only reads sources (clang-tidy) builds the target "generated" and nothing else.
    if(NOT TARGET generated)
        add_custom_target(generated)
    endif()
    add_custom_target(embed_${ARG_NAMESPACE} DEPENDS "${header}" "${source}")
    add_dependencies(generated embed_${ARG_NAMESPACE})
    add_dependencies(${target} embed_${ARG_NAMESPACE})
    target_sources(${target} PRIVATE "${source}" "${header}")
    target_include_directories(${target} PUBLIC "${PROJECT_BINARY_DIR}/generated")
    set_source_files_properties("${source}" "${header}" PROPERTIES SKIP_AUTOGEN ON)
endfunction()
