// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/traffic.h"

namespace fusescope::fusion {
namespace {

constexpr double kStatistic = 4; // bytes: f32

// e: bytes of an element, n = rows * width.
// forward:  reads x, w; writes y (and r = 1/rms a row, for the backward)
// backward: reads dy, x, w, r; writes dx, dw. Two kernels: rows, then the sum of partial dw.
std::vector<FusedPart> rmsNorm(const Geometry& s, double e, bool training) {
    const double n = s.rows * s.width * e, w = s.width * e, r = s.rows * kStatistic;
    std::vector<FusedPart> parts{{KernelClass::RowReduction, false, 1, n + w, n + (training ? r : 0), 0}};
    if (training) parts.push_back({KernelClass::ColumnReduction, true, 2, 2 * n + w + r, n + w, 0});
    return parts;
}

// forward:  reads x, residual, w; writes the sum s, y (and r)
// backward: reads dy, the gradient of s from the residual path (if any), s, w, r; writes one ds for both inputs, dw
std::vector<FusedPart> addRmsNorm(const Geometry& s, double e, bool training) {
    const double n = s.rows * s.width * e, w = s.width * e, r = s.rows * kStatistic;
    std::vector<FusedPart> parts{{KernelClass::RowReduction, false, 1, 2 * n + w, 2 * n + (training ? r : 0), 0}};
    if (training)
        parts.push_back({KernelClass::ColumnReduction, true, 2, (s.residual_gradient ? 3 : 2) * n + w + r, n + w, 0});
    return parts;
}

// Each way: reads q, k and the tables cos, sin once; writes q, k. The backward rotates by the opposite angle.
std::vector<FusedPart> rope(const Geometry& s, double e, bool training) {
    const double n = s.batch * (s.heads + s.kv_heads) * s.q_len * s.head_dim * e;
    const double tables = 2 * s.batch * s.q_len * s.head_dim * e;
    std::vector<FusedPart> parts{{KernelClass::Strided, false, 1, n + tables, n, 0}};
    if (training) parts.push_back({KernelClass::Strided, true, 1, n + tables, n, 0});
    return parts;
}

// forward: reads gate, up; writes h. backward: reads dh, gate, up; writes dgate, dup (silu is recomputed).
std::vector<FusedPart> swiGlu(const Geometry& s, double e, bool training) {
    const double n = s.rows * s.width * e;
    std::vector<FusedPart> parts{{KernelClass::Streaming, false, 1, 2 * n, n, 0}};
    if (training) parts.push_back({KernelClass::Streaming, true, 1, 3 * n, 2 * n, 0});
    return parts;
}

// forward: y = x W^T, one matmul. backward: dx = dy W, one matmul; dW = dy^T x, one matmul; no sums of gradients.
std::vector<FusedPart> qkv(const Geometry& s, double e, bool training) {
    const double x = s.rows * s.hidden * e, w = s.width * s.hidden * e, y = s.rows * s.width * e;
    const double flops = 2 * s.rows * s.hidden * s.width;
    std::vector<FusedPart> parts{{KernelClass::Matmul, false, 1, x + w, y, flops}};
    if (training) {
        parts.push_back({KernelClass::Matmul, true, 1, y + w, x, flops});
        parts.push_back({KernelClass::Matmul, true, 1, y + x, w, flops});
    }
    return parts;
}

// forward:  reads Q, K, V; writes O (and the log-sum-exp a row); 2 matmuls, half of them when causal
// backward: reads Q, K, V, O, dO, lse; writes dQ, dK, dV; 5 matmuls
std::vector<FusedPart> attention(const Geometry& s, double e, bool training) {
    const double q = s.batch * s.heads * s.q_len * s.head_dim * e;
    const double kv = s.batch * s.kv_heads * s.kv_len * s.head_dim * e;
    const double lse = s.batch * s.heads * s.q_len * kStatistic;
    // A decoder attends backwards only: with as many queries as keys, half of the products are never needed.
    const double causal = s.q_len > 1 && s.q_len == s.kv_len ? 0.5 : 1;
    const double matmul = 2 * s.batch * s.heads * s.q_len * s.kv_len * s.head_dim * causal;
    std::vector<FusedPart> parts{{KernelClass::Attention, false, 1, q + 2 * kv, q + (training ? lse : 0), 2 * matmul}};
    if (training) parts.push_back({KernelClass::Attention, true, 3, 3 * q + 2 * kv + lse, q + 2 * kv, 5 * matmul});
    return parts;
}

// forward: the projection's matmul and one pass over its logits that leaves the statistics and, when training, their
// gradient in place; backward: dx = dz W and dW = dz^T x. The logits exist a chunk at a time, in the activations' type.
std::vector<FusedPart> linearCrossEntropy(const Geometry& s, double e, bool training) {
    const double x = s.rows * s.hidden * e, w = s.width * s.hidden * e, z = s.rows * s.width * e;
    const double flops = 2 * s.rows * s.hidden * s.width;
    std::vector<FusedPart> parts{{KernelClass::Matmul, false, 1, x + w, z, flops}};
    if (training) {
        parts.push_back({KernelClass::RowReduction, false, 1, 2 * z, z, 0});
        parts.push_back({KernelClass::Matmul, true, 1, z + w, x, flops});
        parts.push_back({KernelClass::Matmul, true, 1, z + x, w, flops});
    } else {
        parts.push_back({KernelClass::RowReduction, false, 1, z, 0, 0});
    }
    return parts;
}

} // namespace

std::vector<FusedPart> fusedParts(Pattern pattern, const Geometry& shape, bool training, int recomputed) {
    const double e = sizeOf(shape.dtype);
    if (!shape.known() || e <= 0) return {};
    std::vector<FusedPart> parts;
    switch (pattern) {
    case Pattern::RmsNorm: parts = rmsNorm(shape, e, training); break;
    case Pattern::AddRmsNorm: parts = addRmsNorm(shape, e, training); break;
    case Pattern::Rope: parts = rope(shape, e, training); break;
    case Pattern::SwiGlu: parts = swiGlu(shape, e, training); break;
    case Pattern::QkvProjection: parts = qkv(shape, e, training); break;
    case Pattern::Attention: parts = attention(shape, e, training); break;
    case Pattern::LinearCrossEntropy: parts = linearCrossEntropy(shape, e, training); break;
    default: return {};
    }
    const std::size_t once = parts.size();
    for (int i = 0; i < recomputed; ++i) {
        for (std::size_t p = 0; p < once; ++p) {
            if (parts[p].backward) continue;
            parts.push_back(parts[p]);
            parts.back().backward = true; // it runs there
        }
    }
    return parts;
}

} // namespace fusescope::fusion
