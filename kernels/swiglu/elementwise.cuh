// SPDX-License-Identifier: Apache-2.0
// Walks over the elements of several tensors of one shape, N at a time: as one flat run where no tensor has a gap
// between its rows, else by row and column.
#pragma once

#include "kernels/common/abi.h"
#include "kernels/common/checks.h"
#include "kernels/common/element_types.cuh"
#include "kernels/common/error.h"
#include "kernels/common/launch.h"
#include "kernels/common/quotient.cuh"
#include "kernels/common/rows.cuh"

#include <algorithm>
#include <type_traits>

namespace fusescope::kernels {

constexpr int elementwiseThreads = 256; // per block, and the most that a hint may ask for

template <class T> struct Single { T e[1]; };

/// N elements: a vector of 16 bytes, or one element.
template <class T, int N> using Pack = std::conditional_t<N == 1, Single<T>, Vec<T, N>>;

template <int N, class T> __device__ __forceinline__ Pack<std::remove_const_t<T>, N> loadPack(T* p) {
    if constexpr (N == 1)
        return {{*p}};
    else
        return loadOnce<N, std::remove_const_t<T>>(p);
}

template <int N, class T> __device__ __forceinline__ void storePack(T* p, const Pack<T, N>& v) {
    if constexpr (N == 1)
        *p = v.e[0];
    else
        store<N>(p, v);
}

/// How the packs are numbered: pack i lies in row i / packsOfRow. A flat walk has one row.
struct Walk {
    int64_t packs = 0; // of all rows
    int64_t packsOfRow = 0;
    int64_t stepRows = 0;    // how far threads-of-a-block packs lead, as whole rows and
    int64_t stepColumns = 0; // the packs that remain
    int tail = 0;            // elements after the last pack of a flat run
};

enum class Layout {
    flat,   ///< one run
    rows,   ///< rows at one stride, a multiplication to find
    nested, ///< rows at two strides, a division to find
};

/// The place of a pack, moved on by the threads of a block: one division a tile.
template <int N, Layout L> class Place {
public:
    __device__ __forceinline__ Place(const Walk& walk, int64_t pack) : pack_(pack) {
        if constexpr (L != Layout::flat) {
            row_ = quotient(pack, walk.packsOfRow);
            column_ = pack - row_ * walk.packsOfRow;
        }
    }
    __device__ __forceinline__ bool inside(const Walk& walk) const { return pack_ < walk.packs; }
    template <class T> __device__ __forceinline__ T* in(const Rows<T>& rows) const {
        if constexpr (L == Layout::flat)
            return rows.data + pack_ * N;
        else if constexpr (L == Layout::rows)
            return rows.data + row_ * rows.outerStride + column_ * N;
        else
            return rows.row(row_) + column_ * N;
    }
    __device__ __forceinline__ void advance(const Walk& walk) {
        pack_ += blockDim.x;
        if constexpr (L != Layout::flat) {
            row_ += walk.stepRows;
            column_ += walk.stepColumns;
            if (column_ >= walk.packsOfRow) {
                column_ -= walk.packsOfRow;
                ++row_;
            }
        }
    }

private:
    int64_t pack_, row_ = 0, column_ = 0;
};

inline Layout layoutOf(const FsRows& rows, int64_t width) {
    const Rows<char> r = typed<char>(rows);
    if (r.inner != 1) return Layout::nested;
    return r.outerStride == width || rowCount(rows) == 1 ? Layout::flat : Layout::rows;
}

/// How a call is launched.
struct ElementwisePlan {
    Walk walk;
    Layout layout = Layout::flat;
    bool vectorised = false;
    int inFlight = 1; // packs of each tensor that a thread has under way
    int threads = elementwiseThreads;
    int grid = 0; // one tile a block; 0: more tiles than blocks can be
};

/// `count` tensors of `width` columns and equally many rows, at least one element. `inFlight` is for vectors and many
/// of them; single elements go four at a time.
inline ElementwisePlan planElementwise(const FsRows* tensors, int count, int64_t width, int elementSize, int inFlight,
                                       const FsLaunchHint& hint, const DeviceFacts& device) {
    const int64_t elements = rowCount(tensors[0]) * width;
    const int n = 16 / elementSize;
    ElementwisePlan p;
    for (int t = 0; t < count; ++t) p.layout = std::max(p.layout, layoutOf(tensors[t], width));
    const bool flat = p.layout == Layout::flat;
    p.vectorised = hint.variant >= 0 && (flat || width % n == 0);
    for (int t = 0; t < count; ++t)
        p.vectorised = p.vectorised && (flat ? aligned16(tensors[t].data) : aligned16(tensors[t], size_t(elementSize)));
    if (hint.threads > 0)
        p.threads = (hint.threads < elementwiseThreads ? hint.threads + 31 : elementwiseThreads) / 32 * 32;

    const int packSize = p.vectorised ? n : 1;
    p.walk.packs = elements / packSize;
    p.walk.tail = flat ? int(elements % packSize) : 0;
    p.walk.packsOfRow = flat ? p.walk.packs : width / packSize;
    if (!flat) {
        p.walk.stepRows = p.threads / p.walk.packsOfRow;
        p.walk.stepColumns = p.threads % p.walk.packsOfRow;
    }

    // Where the packs do not fill the device twice, more threads serve better than more packs a thread.
    const bool few = p.walk.packs < int64_t(device.multiprocessors) * 2048 * 2;
    p.inFlight = p.vectorised ? (hint.variant > 0 ? hint.variant : few ? 1 : inFlight) : 4;
    const int64_t tile = int64_t(p.threads) * p.inFlight;
    const int64_t tiles = p.walk.packs > 0 ? (p.walk.packs + tile - 1) / tile : 1;
    p.grid = tiles <= 0x7fffffff ? int(tiles) : 0;
    return p;
}

/// Calls launch(N, InFlight, Layout), each a std::integral_constant, for the kernel that the plan is made for.
template <class T, class F> FsStatus launchElementwise(const ElementwisePlan& p, const char* kernel, F&& launch) {
    if (p.grid == 0) return fail(FS_UNSUPPORTED, "%s: more elements than one launch covers", kernel);
    auto with = [&](auto n, auto inFlight) {
        if (p.layout == Layout::flat)
            launch(n, inFlight, std::integral_constant<Layout, Layout::flat>{});
        else if (p.layout == Layout::rows)
            launch(n, inFlight, std::integral_constant<Layout, Layout::rows>{});
        else
            launch(n, inFlight, std::integral_constant<Layout, Layout::nested>{});
    };
    constexpr std::integral_constant<int, vecWidth<T>> n;
    if (!p.vectorised)
        with(std::integral_constant<int, 1>{}, std::integral_constant<int, 4>{});
    else if (p.inFlight == 1)
        with(n, std::integral_constant<int, 1>{});
    else if (p.inFlight == 2)
        with(n, std::integral_constant<int, 2>{});
    else
        return fail(FS_UNSUPPORTED, "%s: variant %d: expected 1 or 2", kernel, p.inFlight);
    return checkLaunch(kernel);
}

} // namespace fusescope::kernels
