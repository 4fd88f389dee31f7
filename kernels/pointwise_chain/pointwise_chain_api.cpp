// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/guarded.h"
#include "kernels/common/launch.h"
#include "kernels/pointwise_chain/chain.h"
#include "kernels/pointwise_chain/kernel_cache.h"
#include "kernels/pointwise_chain/plan.h"
#include "kernels/pointwise_chain/row_sums.h"
#include "kernels/pointwise_chain/source.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace fusescope::kernels;
using namespace fusescope::kernels::chain;

namespace {

constexpr int multiprocessorsOfH200 = 132;

FsStatus refuse(const std::string& sentence) {
    return fail(FS_INVALID_ARGUMENT, "pointwise_chain: %s", sentence.c_str());
}

/// Of the current device; without one, an H200's.
int multiprocessorsHere() {
    DeviceFacts device;
    const bool present = currentDevice(device) == FS_OK;
    beginCall();
    return present ? device.multiprocessors : multiprocessorsOfH200;
}

FsStatus makePlan(const FsPointwiseChain* call, int multiprocessors, Plan& plan) {
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(call->chain, "chain"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(call->inputs, "inputs"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(call->outputs, "outputs"); s != FS_OK) return s;
    auto planned = call->chain->plans.planFor(call->chain->program, *call, multiprocessors);
    if (auto* problem = std::get_if<std::string>(&planned)) return refuse(*problem);
    plan = std::get<Plan>(std::move(planned));
    return FS_OK;
}

FsStatus findKernel(const FsChain& chain, const Plan& plan, int computeCapability, cudaKernel_t& kernel) {
    const std::string key = std::to_string(computeCapability) + ' ' + plan.key;
    {
        std::shared_lock lock(chain.mutex);
        if (const auto found = chain.kernels.find(key); found != chain.kernels.end()) {
            kernel = found->second;
            return FS_OK;
        }
    }
    if (FsStatus s = kernelFor(sourceOf(chain.program, plan), computeCapability, kernel); s != FS_OK) return s;
    std::lock_guard lock(chain.mutex);
    chain.kernels[key] = kernel;
    return FS_OK;
}

/// The plan and kernel of a call; no kernel when there is nothing to do. What is wrong with the call is said before
/// what is wrong with the device.
FsStatus prepare(const FsPointwiseChain* call, Plan& plan, cudaKernel_t& kernel) {
    DeviceFacts device;
    const bool present = currentDevice(device) == FS_OK;
    beginCall();
    const int multiprocessors = present ? device.multiprocessors : multiprocessorsOfH200;
    if (FsStatus s = makePlan(call, multiprocessors, plan); s != FS_OK || plan.grid == 0) return s;
    if (!present) return currentDevice(device);
    return findKernel(*call->chain, plan, device.computeCapability, kernel);
}

} // namespace

FsStatus fusescope_pointwise_chain_create(const char* text, FsChain** chain) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        if (FsStatus s = checkPointer(text, "text"); s != FS_OK) return s;
        if (FsStatus s = checkPointer(chain, "chain"); s != FS_OK) return s;
        auto parsed = parse(text);
        if (auto* problem = std::get_if<std::string>(&parsed)) return refuse(*problem);
        auto made = std::make_unique<FsChain>();
        made->program = std::get<Program>(std::move(parsed));
        *chain = made.release();
        return FS_OK;
    });
}

void fusescope_pointwise_chain_destroy(FsChain* chain) { delete chain; }

int32_t fusescope_pointwise_chain_inputs(const FsChain* chain) { return chain ? chain->program.inputs : 0; }

int32_t fusescope_pointwise_chain_outputs(const FsChain* chain) {
    return chain ? int32_t(chain->program.outputs.size()) : 0;
}

FsStatus fusescope_pointwise_chain_shapes(const FsChain* chain, const FsChainTensor* inputs, FsChainTensor* outputs) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        if (FsStatus s = checkPointer(chain, "chain"); s != FS_OK) return s;
        if (FsStatus s = checkPointer(inputs, "inputs"); s != FS_OK) return s;
        if (FsStatus s = checkPointer(outputs, "outputs"); s != FS_OK) return s;
        const auto shapes = shapesOf(chain->program, inputs);
        if (auto* problem = std::get_if<std::string>(&shapes)) return refuse(*problem);
        for (size_t i = 0; i < chain->program.outputs.size(); ++i) {
            const size_t node = size_t(chain->program.outputs[i]);
            outputs[i] =
                contiguous(outputShape(chain->program, std::get<Shapes>(shapes), i), chain->program.nodes[node].dtype);
        }
        return FS_OK;
    });
}

FsStatus fusescope_pointwise_chain_workspace(const FsPointwiseChain* call, size_t* bytes) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        Plan plan;
        if (FsStatus s = checkPointer(bytes, "bytes"); s != FS_OK) return s;
        if (FsStatus s = makePlan(call, multiprocessorsHere(), plan); s != FS_OK) return s;
        *bytes = workspaceOf(plan);
        return FS_OK;
    });
}

FsStatus fusescope_pointwise_chain(const FsPointwiseChain* call, void* workspace, size_t workspace_bytes,
                                   cudaStream_t stream) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        Plan plan;
        cudaKernel_t kernel = nullptr;
        if (FsStatus s = prepare(call, plan, kernel); s != FS_OK) return s;
        if (const size_t needed = workspaceOf(plan); workspace_bytes < needed || (needed > 0 && !workspace))
            return fail(FS_WORKSPACE_TOO_SMALL, "pointwise_chain: expected a workspace of %zu bytes, found %zu", needed,
                        workspace ? workspace_bytes : size_t{0});
        placeSums(plan, workspace);
        if (plan.grid == 0) return launchRowSums(plan, stream);
        std::vector<uint64_t> words = argumentsOf(call->chain->program, plan);
        void* arguments[] = {words.data()};
        // A kernel of a library takes the place of a function's address.
        if (FsStatus s = check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(unsigned(plan.grid)),
                                                dim3(unsigned(plan.threads)), arguments, 0, stream),
                               "pointwise_chain");
            s != FS_OK)
            return s;
        return launchRowSums(plan, stream);
    });
}

FsStatus fusescope_pointwise_chain_prepare(const FsPointwiseChain* call) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        Plan plan;
        cudaKernel_t kernel = nullptr;
        if (FsStatus s = prepare(call, plan, kernel); s != FS_OK || plan.grid == 0) return s;
        cudaFuncAttributes attributes; // asking for them brings the code onto the device
        return check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)), "pointwise_chain");
    });
}

FsStatus fusescope_pointwise_chain_source(const FsPointwiseChain* call, char* text, size_t capacity, size_t* size) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        Plan plan;
        if (FsStatus s = makePlan(call, multiprocessorsHere(), plan); s != FS_OK) return s;
        if (FsStatus s = checkPointer(size, "size"); s != FS_OK) return s;
        const std::string source = sourceOf(call->chain->program, plan);
        *size = source.size() + 1;
        if (!text || capacity == 0) return FS_OK;
        const size_t kept = std::min(capacity - 1, source.size());
        std::memcpy(text, source.data(), kept);
        text[kept] = '\0';
        return FS_OK;
    });
}

FsStatus fusescope_pointwise_chain_binary(const FsPointwiseChain* call, int32_t compute_capability, void* code,
                                          size_t capacity, size_t* size) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        Plan plan;
        if (FsStatus s = makePlan(call, multiprocessorsOfH200, plan); s != FS_OK) return s;
        if (FsStatus s = checkPointer(size, "size"); s != FS_OK) return s;
        std::string compiled;
        if (FsStatus s = codeFor(sourceOf(call->chain->program, plan), compute_capability, compiled); s != FS_OK)
            return s;
        *size = compiled.size();
        if (code) std::memcpy(code, compiled.data(), std::min(capacity, compiled.size()));
        return FS_OK;
    });
}

FsStatus fusescope_pointwise_chain_cache_folder(const char* folder) {
    return guarded("pointwise_chain", [&]() -> FsStatus {
        beginCall();
        setCacheFolder(folder);
        return FS_OK;
    });
}
