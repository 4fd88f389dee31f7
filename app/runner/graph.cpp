// SPDX-License-Identifier: GPL-3.0-or-later
// Capturing by hand instead of through at::cuda::CUDAGraph: that one leaves the allocator waiting for the end of a
// capture that failed, and a failed capture is an ordinary answer here.
#include "measure.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <exception>

namespace fusescope::runner {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

bool isCapturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

int countKernels(cudaGraph_t graph) {
    std::size_t count = 0;
    if (cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess || count == 0) return 0;
    std::vector<cudaGraphNode_t> nodes(count);
    if (cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return 0;
    int kernels = 0;
    for (cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        if (cudaGraphNodeGetType(node, &type) != cudaSuccess) continue;
        cudaGraph_t child = nullptr;
        if (type == cudaGraphNodeTypeKernel)
            ++kernels;
        else if (type == cudaGraphNodeTypeGraph && cudaGraphChildGraphNodeGetGraph(node, &child) == cudaSuccess)
            kernels += countKernels(child);
    }
    return kernels;
}

} // namespace

struct Graph::State {
    c10::MempoolId_t pool;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    std::vector<at::Tensor> kept;
};

std::unique_ptr<Graph> Graph::capture(const Device& device, const std::function<std::vector<at::Tensor>()>& run) {
    if (!device.onGpu()) return nullptr;
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    std::unique_ptr<Graph> captured(new Graph);
    captured->state_ = std::make_unique<State>();
    State& state = *captured->state_;
    device.synchronize();
    state.pool = at::cuda::graph_pool_handle();
    allocator::beginAllocateToPool(0, state.pool, isCapturing);
    bool whole = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess;
    if (whole) {
        std::exception_ptr stopped;
        try {
            state.kept = run();
        } catch (const Failed& e) {
            whole = false;
            if (e.error.code == "cancelled" || e.error.code == "time_limit") stopped = std::current_exception();
        } catch (const std::exception&) {
            whole = false;
        }
        if (cudaStreamEndCapture(stream, &state.graph) != cudaSuccess || state.graph == nullptr) whole = false;
        allocator::endAllocateToPool(0, state.pool);
        clearCudaError();
        if (stopped) std::rethrow_exception(stopped); // the destructor frees
    } else {
        allocator::endAllocateToPool(0, state.pool);
        clearCudaError();
    }
    if (!whole || cudaGraphInstantiateWithFlags(&state.executable, state.graph, 0) != cudaSuccess) {
        clearCudaError();
        return nullptr;
    }
    captured->kernels_ = countKernels(state.graph);
    return captured;
}

Graph::~Graph() {
    if (!state_) return;
    (void)cudaDeviceSynchronize();
    if (state_->executable != nullptr) (void)cudaGraphExecDestroy(state_->executable);
    if (state_->graph != nullptr) (void)cudaGraphDestroy(state_->graph);
    state_->kept.clear();
    try {
        allocator::releasePool(0, state_->pool);
    } catch (const std::exception&) {
    } // the context is lost: serve.cpp finds out
}

void Graph::replay() const {
    C10_CUDA_CHECK(cudaGraphLaunch(state_->executable, c10::cuda::getCurrentCUDAStream().stream()));
}

} // namespace fusescope::runner
