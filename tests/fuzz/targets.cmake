# SPDX-License-Identifier: Apache-2.0
# Each target is made where the parts it needs are built.

if(TARGET fusescope_core_io)
    fusescope_fuzz_target(pt2 PARTS graph io SOURCES pt2_fuzz.cpp)
    fusescope_fuzz_target(kineto PARTS io SOURCES kineto_fuzz.cpp)
endif()
if(TARGET fusescope_core_region)
    fusescope_fuzz_target(region PARTS region io SOURCES region_fuzz.cpp)
endif()
if(TARGET fusescope_core_measured)
    fusescope_fuzz_target(measured PARTS measured SOURCES measured_fuzz.cpp)
endif()
if(TARGET fusescope_core_ipc)
    fusescope_fuzz_target(layout_protocol PARTS ipc SOURCES layout_protocol_fuzz.cpp)
    fusescope_fuzz_target(runner_protocol PARTS ipc SOURCES runner_protocol_fuzz.cpp)
endif()
if(TARGET fusescope_core_base)
    # What pointwise_chain does before it needs CUDA.
    set(chain_sources gradient.cpp kernel_text.cpp layout.cpp node_writer.cpp passes.cpp plan.cpp
        plan_arguments.cpp prelude.cpp program.cpp program_text.cpp source.cpp source_pointwise.cpp
        source_rows.cpp source_sums.cpp)
    list(TRANSFORM chain_sources PREPEND "${PROJECT_SOURCE_DIR}/kernels/pointwise_chain/")
    fusescope_fuzz_target(chain PARTS base SOURCES chain_fuzz.cpp ${chain_sources})
endif()
