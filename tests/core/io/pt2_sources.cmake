# SPDX-License-Identifier: Apache-2.0
# Relative to tests/core/io/.
set(FUSESCOPE_PT2_TEST_SOURCES
    pt2_archive_test.cpp
    pt2_argument_test.cpp
    pt2_reader_test.cpp
    pt2_signature_test.cpp
    pt2_subgraph_test.cpp)
