// SPDX-License-Identifier: Apache-2.0
// Forward of swiglu: every element is read once and written once, 16 bytes at a time.
#include "kernels/common/error.h"
#include "kernels/swiglu/elementwise.cuh"
#include "kernels/swiglu/swiglu.h"
#include "kernels/swiglu/swiglu_math.cuh"

namespace fusescope::kernels {
namespace {

template <class T> struct Arguments {
    Rows<const T> gate, up;
    Rows<T> h;
    Walk walk;
    bool once;
};

/// Few elements, whatever their values. Reads them anew: kept in registers they would cost the common path its speed.
template <class T> __device__ void oneByOne(const T* gate, const T* up, T* h, int count, bool once) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        const T g[1] = {gate[i]}, u[1] = {up[i]};
        T out[1];
        swigluOf<false>(g, u, once, out);
        h[i] = out[0];
    }
}

template <class T, int N, int InFlight, Layout L>
__global__ void __launch_bounds__(elementwiseThreads, InFlight == 1 ? 5 : 4)
    swigluForward(const __grid_constant__ Arguments<T> a) {
    Pack<T, N> gate[InFlight], up[InFlight];
    const Place<N, L> start(a.walk, int64_t(blockIdx.x) * blockDim.x * InFlight + threadIdx.x);
    Place<N, L> place = start;
#pragma unroll
    for (int u = 0; u < InFlight; ++u, place.advance(a.walk)) {
        if (!place.inside(a.walk)) continue;
        gate[u] = loadPack<N>(place.in(a.gate));
        up[u] = loadPack<N>(place.in(a.up));
    }
    place = start;
#pragma unroll
    for (int u = 0; u < InFlight; ++u, place.advance(a.walk)) {
        if (!place.inside(a.walk)) continue;
        if (!allNear(gate[u])) {
            oneByOne(place.in(a.gate), place.in(a.up), place.in(a.h), N, a.once);
            continue;
        }
        Pack<T, N> h;
        swigluOf<true>(gate[u].e, up[u].e, a.once, h.e);
        storePack<N>(place.in(a.h), h);
    }
    if (L == Layout::flat && N > 1 && blockIdx.x == 0 && int(threadIdx.x) < a.walk.tail) {
        const int64_t i = a.walk.packs * N + threadIdx.x;
        oneByOne(a.gate.data + i, a.up.data + i, a.h.data + i, 1, a.once);
    }
}

template <class T> FsStatus launch(const FsSwigluForward& c, const DeviceFacts& device, cudaStream_t stream) {
    const FsRows tensors[] = {c.gate, c.up, c.h};
    const ElementwisePlan p = planElementwise(tensors, 3, c.width, sizeof(T), 2, c.hint, device);
    const Arguments<T> a{typed<const T>(c.gate), typed<const T>(c.up), typed<T>(c.h), p.walk,
                         c.rounding == FS_ROUND_ONCE};
    return launchElementwise<T>(p, "swiglu forward", [&](auto n, auto inFlight, auto layout) {
        swigluForward<T, n, inFlight, layout><<<p.grid, p.threads, 0, stream>>>(a);
    });
}

} // namespace
} // namespace fusescope::kernels

FsStatus fusescope_swiglu_forward(const FsSwigluForward* call, cudaStream_t stream) {
    using namespace fusescope::kernels;
    beginCall();
    if (FsStatus s = checkPointer(call, "call"); s != FS_OK) return s;
    const FsSwigluForward& c = *call;
    FsStatus s = checkDtype(c.dtype, "gate");
    if (s == FS_OK) s = checkRows(c.gate, "gate", c.width, false);
    if (s == FS_OK) s = checkRows(c.up, "up", c.width, false);
    if (s == FS_OK) s = checkRows(c.h, "h", c.width, true);
    if (s == FS_OK) s = checkSameRows(c.gate, "gate", c.up, "up");
    if (s == FS_OK) s = checkSameRows(c.gate, "gate", c.h, "h");
    if (s != FS_OK || rowCount(c.gate) == 0 || c.width == 0) return s;

    DeviceFacts device;
    if (s = currentDevice(device); s != FS_OK) return s;
    return withElementType(c.dtype,
                           [&](auto type) { return launch<typename decltype(type)::Type>(c, device, stream); });
}
