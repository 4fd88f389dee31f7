# SPDX-License-Identifier: Apache-2.0

fusescope_bench(timeline_draw
    PARTS analysis draw io
    SOURCES
        timeline_draw_bench.cpp
        ${PROJECT_SOURCE_DIR}/tests/support/synthetic_analysis.cpp ${PROJECT_SOURCE_DIR}/tests/support/synthetic_trace.cpp)

fusescope_bench(trace_load
    PARTS io
    SOURCES trace_load_bench.cpp
    LIBS simdjson::simdjson ZLIB::ZLIB)

fusescope_bench(after_fusing
    PARTS analysis measured
    SOURCES after_fusing_bench.cpp)
