// SPDX-License-Identifier: GPL-3.0-or-later
#include "compare.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace fusescope::runner {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 22; // elements compared at a time: the copies in fp64 stay small
constexpr double kMost = 1e300;

double bounded(double number) { return std::isfinite(number) ? std::min(number, kMost) : kMost; }

at::Tensor realOf(const at::Tensor& tensor) {
    return tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor;
}

bool sameBits(const at::Tensor& a, const at::Tensor& b) {
    if (a.scalar_type() != b.scalar_type()) return false;
    const auto type = a.element_size() == 1   ? at::kByte
                      : a.element_size() == 2 ? at::kShort
                      : a.element_size() == 4 ? at::kInt
                                              : at::kLong;
    return at::equal(a.view(type), b.view(type));
}

Difference differenceOf(const at::Tensor& value, const at::Tensor& reference) {
    const at::Tensor flat = realOf(value).reshape(-1), flat_reference = realOf(reference).reshape(-1);
    Difference difference;
    double squares = 0, reference_squares = 0;
    for (std::int64_t at = 0; at < flat.numel(); at += kPiece) {
        const std::int64_t end = std::min(at + kPiece, flat.numel());
        const at::Tensor piece = flat.slice(0, at, end), other = flat_reference.slice(0, at, end).to(piece.device());
        difference.bitwise = difference.bitwise && sameBits(piece, other);
        const at::Tensor a = piece.to(at::kDouble), b = other.to(at::kDouble);
        const at::Tensor same = a.eq(b).logical_or_(a.isnan().logical_and_(b.isnan()));
        const at::Tensor off = a.sub(b).masked_fill_(same, 0);
        squares += off.square().sum().item<double>();
        reference_squares += b.masked_fill(b.isfinite().logical_not_(), 0).square().sum().item<double>();
        difference.max_abs = std::max(difference.max_abs, bounded(off.abs().max().item<double>()));
    }
    if (squares != 0) difference.relative = bounded(std::sqrt(squares) / std::sqrt(reference_squares));
    return difference;
}

} // namespace

Difference differenceOf(const Tensors& values, const Tensors& references, const char* what) {
    const at::NoGradGuard no_gradients;
    Difference worst;
    for (std::size_t i = 0; i < std::min(values.size(), references.size()); ++i) {
        at::Tensor value = values[i], reference = references[i];
        if (!value.defined() && !reference.defined()) continue;
        if (!value.defined()) value = at::zeros_like(reference);
        if (!reference.defined()) reference = at::zeros_like(value);
        if (value.sizes() != reference.sizes())
            throw Failed("bad_request", std::string(what) + " " + std::to_string(i) +
                                            ": expected the baseline's shape " + c10::str(reference.sizes()) +
                                            ", found " + c10::str(value.sizes()));
        const Difference one = differenceOf(value.detach(), reference.detach());
        worst.relative = std::max(worst.relative, one.relative);
        worst.max_abs = std::max(worst.max_abs, one.max_abs);
        worst.bitwise = worst.bitwise && one.bitwise;
    }
    return worst;
}

} // namespace fusescope::runner
