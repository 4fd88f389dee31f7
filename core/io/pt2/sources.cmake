# SPDX-License-Identifier: Apache-2.0
# Relative to core/io/.
set(FUSESCOPE_IO_PT2_SOURCES
    pt2/pt2_archive.cpp
    pt2/pt2_argument.cpp
    pt2/pt2_graph.cpp
    pt2/pt2_json.cpp
    pt2/pt2_reader.cpp
    pt2/pt2_signature.cpp)
