// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/heads_checks.h"

#include "kernels/common/checks.h"
#include "kernels/common/error.h"

#include <algorithm>
#include <array>

namespace fusescope::kernels {
namespace {

constexpr int64_t maxHeads = int64_t{1} << 28;

struct Level {
    int64_t count, stride;
};

bool overlap(std::array<Level, 3> levels, int64_t width) {
    std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.stride < b.stride; });
    int64_t span = width;
    for (const Level& level : levels) {
        if (level.count <= 1) continue;
        if (level.stride < span) return true;
        span += (level.count - 1) * level.stride;
    }
    return false;
}

bool multipleOf16(int64_t count, int64_t stride, size_t elementSize) {
    return count <= 1 || size_t(stride) * elementSize % 16 == 0;
}

} // namespace

FsStatus checkHeadShape(const HeadShape& shape) {
    for (int64_t size : {shape.batch, shape.tokens, shape.headDim})
        if (size < 0 || size > maxElements)
            return fail(FS_INVALID_ARGUMENT, "%lld batches of %lld tokens with heads of %lld elements cannot be",
                        asLong(shape.batch), asLong(shape.tokens), asLong(shape.headDim));
    if (shape.headDim == 0 || shape.headDim % 2 != 0)
        return fail(FS_INVALID_ARGUMENT, "head_dim: expected an even number of elements, found %lld",
                    asLong(shape.headDim));
    if (shape.batch && shape.tokens && shape.batch > maxElements / shape.tokens / shape.headDim)
        return fail(FS_INVALID_ARGUMENT, "%lld batches of %lld tokens with heads of %lld elements are too many",
                    asLong(shape.batch), asLong(shape.tokens), asLong(shape.headDim));
    return FS_OK;
}

FsStatus checkHeads(const FsHeads& heads, const char* name, const HeadShape& shape, bool written) {
    if (heads.heads < 0 || heads.heads > maxHeads)
        return fail(FS_INVALID_ARGUMENT, "%s: %lld heads cannot be", name, asLong(heads.heads));
    if (heads.heads == 0 || shape.batch == 0 || shape.tokens == 0) return FS_OK;
    if (shape.batch * shape.tokens > maxElements / shape.headDim / heads.heads)
        return fail(FS_INVALID_ARGUMENT, "%s: %lld x %lld x %lld heads of %lld elements are too many", name,
                    asLong(shape.batch), asLong(shape.tokens), asLong(heads.heads), asLong(shape.headDim));
    if (!heads.data) return fail(FS_INVALID_ARGUMENT, "%s: expected data, found a null pointer", name);
    const std::array<Level, 3> levels{
        {{shape.batch, heads.batch_stride}, {shape.tokens, heads.token_stride}, {heads.heads, heads.head_stride}}};
    for (const Level& level : levels)
        if (level.count > 1 && (level.stride < 0 || level.stride > maxElements / level.count))
            return fail(FS_INVALID_ARGUMENT, "%s: strides %lld, %lld and %lld cannot be", name,
                        asLong(heads.batch_stride), asLong(heads.token_stride), asLong(heads.head_stride));
    if (written && overlap(levels, shape.headDim))
        return fail(FS_INVALID_ARGUMENT,
                    "%s: heads that are written to overlap (head_dim %lld, strides %lld, %lld and %lld)", name,
                    asLong(shape.headDim), asLong(heads.batch_stride), asLong(heads.token_stride),
                    asLong(heads.head_stride));
    return FS_OK;
}

FsStatus checkRotary(const FsRotary& rotary, const HeadShape& shape) {
    if (shape.batch == 0 || shape.tokens == 0) return FS_OK;
    if (FsStatus s = checkPointer(rotary.cos, "cos"); s != FS_OK) return s;
    if (FsStatus s = checkPointer(rotary.sin, "sin"); s != FS_OK) return s;
    if (rotary.batch_stride < 0 || rotary.batch_stride > maxElements / shape.batch || rotary.token_stride < 0 ||
        rotary.token_stride > maxElements / shape.tokens)
        return fail(FS_INVALID_ARGUMENT, "cos, sin: strides %lld and %lld cannot be", asLong(rotary.batch_stride),
                    asLong(rotary.token_stride));
    return FS_OK;
}

bool aligned16(const FsHeads& heads, const HeadShape& shape, size_t elementSize) {
    return aligned16(heads.data) && multipleOf16(shape.batch, heads.batch_stride, elementSize) &&
           multipleOf16(shape.tokens, heads.token_stride, elementSize) &&
           multipleOf16(heads.heads, heads.head_stride, elementSize);
}

bool aligned16(const FsRotary& rotary, const HeadShape& shape, size_t elementSize) {
    return aligned16(rotary.cos) && aligned16(rotary.sin) &&
           multipleOf16(shape.batch, rotary.batch_stride, elementSize) &&
           multipleOf16(shape.tokens, rotary.token_stride, elementSize);
}

} // namespace fusescope::kernels
