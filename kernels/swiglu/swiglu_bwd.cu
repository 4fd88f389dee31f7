// SPDX-License-Identifier: Apache-2.0
// Backward of swiglu: silu is computed anew from gate, so nothing is kept from the forward.
#include "kernels/common/error.h"
#include "kernels/swiglu/elementwise.cuh"
#include "kernels/swiglu/swiglu.h"
#include "kernels/swiglu/swiglu_math.cuh"

namespace fusescope::kernels {
namespace {

template <class T> struct Arguments {
    Rows<const T> dh, gate, up;
    Rows<T> dgate, dup;
    Walk walk;
    bool once;
};

/// Few elements, whatever their values; see the forward.
template <class T>
__device__ void oneByOne(const T* dh, const T* gate, const T* up, T* dgate, T* dup, int count, bool once) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        const T d[1] = {dh[i]}, g[1] = {gate[i]}, u[1] = {up[i]};
        T outGate[1], outUp[1]; // written last: an output may be an input
        swigluGradients<false>(d, g, u, once, outGate, outUp);
        dgate[i] = outGate[0];
        dup[i] = outUp[0];
    }
}

template <class T, int N, int InFlight, Layout L>
__global__ void __launch_bounds__(elementwiseThreads, InFlight == 1 ? 4 : 2)
    swigluBackward(const __grid_constant__ Arguments<T> a) {
    Pack<T, N> dh[InFlight], gate[InFlight], up[InFlight];
    const Place<N, L> start(a.walk, int64_t(blockIdx.x) * blockDim.x * InFlight + threadIdx.x);
    Place<N, L> place = start;
#pragma unroll
    for (int u = 0; u < InFlight; ++u, place.advance(a.walk)) {
        if (!place.inside(a.walk)) continue;
        dh[u] = loadPack<N>(place.in(a.dh));
        gate[u] = loadPack<N>(place.in(a.gate));
        up[u] = loadPack<N>(place.in(a.up));
    }
    place = start;
#pragma unroll
    for (int u = 0; u < InFlight; ++u, place.advance(a.walk)) {
        if (!place.inside(a.walk)) continue;
        if (!allNear(gate[u])) {
            oneByOne(place.in(a.dh), place.in(a.gate), place.in(a.up), place.in(a.dgate), place.in(a.dup), N, a.once);
            continue;
        }
        Pack<T, N> dgate, dup;
        swigluGradients<true>(dh[u].e, gate[u].e, up[u].e, a.once, dgate.e, dup.e);
        storePack<N>(place.in(a.dgate), dgate);
        storePack<N>(place.in(a.dup), dup);
    }
    if (L == Layout::flat && N > 1 && blockIdx.x == 0 && int(threadIdx.x) < a.walk.tail) {
        const int64_t i = a.walk.packs * N + threadIdx.x;
        oneByOne(a.dh.data + i, a.gate.data + i, a.up.data + i, a.dgate.data + i, a.dup.data + i, 1, a.once);
    }
}

template <class T> FsStatus launch(const FsSwigluBackward& c, const DeviceFacts& device, cudaStream_t stream) {
    const FsRows tensors[] = {c.dh, c.gate, c.up, c.dgate, c.dup};
    const ElementwisePlan p = planElementwise(tensors, 5, c.width, sizeof(T), 1, c.hint, device);
    const Arguments<T> a{typed<const T>(c.dh),       typed<const T>(c.gate), typed<const T>(c.up),
                         typed<T>(c.dgate),          typed<T>(c.dup),        p.walk,
                         c.rounding == FS_ROUND_ONCE};
    return launchElementwise<T>(p, "swiglu backward", [&](auto n, auto inFlight, auto layout) {
        swigluBackward<T, n, inFlight, layout><<<p.grid, p.threads, 0, stream>>>(a);
    });
}

} // namespace
} // namespace fusescope::kernels

FsStatus fusescope_swiglu_backward(const FsSwigluBackward* call, cudaStream_t stream) {
    using namespace fusescope::kernels;
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    const FsSwigluBackward& c = *call;
    FsStatus s = checkDtype(c.dtype, "gate");
    const struct {
        const FsRows& rows;
        const char* name;
        bool written;
    } tensors[] = {{c.dh, "dh", false},
                   {c.gate, "gate", false},
                   {c.up, "up", false},
                   {c.dgate, "dgate", true},
                   {c.dup, "dup", true}};
    for (const auto& t : tensors) {
        if (s == FS_OK) s = checkRows(t.rows, t.name, c.width, t.written);
        if (s == FS_OK) s = checkSameRows(c.gate, "gate", t.rows, t.name);
    }
    if (s != FS_OK || rowCount(c.gate) == 0 || c.width == 0) return s;

    DeviceFacts device;
    if (s = currentDevice(device); s != FS_OK) return s;
    return withElementType(c.dtype,
                           [&](auto type) { return launch<typename decltype(type)::Type>(c, device, stream); });
}
