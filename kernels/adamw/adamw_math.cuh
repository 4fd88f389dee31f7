// SPDX-License-Identifier: Apache-2.0
// One AdamW step of a few elements, with the bits of PyTorch's _fused_adamw_: every product, sum, division and square
// root is rounded as there, and what is fused to a multiply-add there is fused here.
//
// Two ways to the same bits. `exactly` is the formula as it stands: a square root and two divisions, each with a branch
// to a slow path of its own. `nearly` takes the common paths of those three without their branches, a third of the
// instructions, and tells whether its result holds. It computes
//   - the square root of 2^64 exp_avg_sq, which is 2^32 times as large and never subnormal;
//   - the update times 2^40, so that one which has almost faded away (exp_avg shrinks by a tenth a step once gradients
//     stay away, as in most rows of an embedding) needs no care either: it is taken off with one multiply-add.
// Powers of two change no bits of a quotient or root whose exponent stays in range, which `nearPossible` and the checks
// at the end of `nearly` ensure:
//   - exp_avg_sq infinite, NaN, negative or at least 2^64 makes the root NaN, and with it the new parameter;
//   - so the divisor lies in [2^-56, 2^45], and a zero exp_avg_sq (taken for 2^-190) leaves it eps;
//   - an update of 2^-80 or more (before the division) is exact; one below comes off a parameter of 2^-40 or more,
//   where
//     what fp32 would lose of it is less than the parameter's rounding; neither, or infinities and NaN: no.
#pragma once

#include "kernels/common/packed.cuh"

namespace fusescope::kernels {

/// What is the same for all elements of a launch.
struct AdamWConstants {
    float lr, beta1, beta2, eps, weightDecay;
    float decay; ///< lr * weightDecay
    bool maximize;
};

/// What depends on a tensor's step.
struct AdamWScalars {
    float stepSize;    ///< lr / (1 - beta1^step)
    float correction2; ///< sqrt(1 - beta2^step)
    float gradScale;   ///< 1 without one
    // The same as `nearly` wants them.
    float scaledStepSize;    ///< 2^40 stepSize
    float scaledCorrection2; ///< 2^32 correction2
    float scaledInverse;     ///< 2^-32 / correction2, as a division starts from it
    float gradFactor;        ///< 1 / gradScale, negated to maximize
    bool near;               ///< whether `nearly` is possible at all
    bool skip;               ///< found_inf
};

__device__ __forceinline__ float approximateReciprocal(float d) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
    return __fmaf_rn(r, __fmaf_rn(-d, r, 1.f), r);
}

__device__ __forceinline__ float approximateRsqrt(float x) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/// Dividing by such a number is multiplying by its reciprocal.
__device__ __forceinline__ bool isPowerOfTwo(float v) {
    const uint32_t bits = __float_as_uint(v);
    return (bits & 0x807fffffu) == 0 && bits >= __float_as_uint(0x1p-120f) && bits <= __float_as_uint(0x1p120f);
}

/// `correction`: 1 - beta^step. Leaves `skip` open.
__device__ __forceinline__ AdamWScalars scalarsOf(const AdamWConstants& c, float correction1, float correction2,
                                                  float gradScale) {
    AdamWScalars s;
    s.stepSize = __fdiv_rn(c.lr, correction1);
    s.correction2 = __fsqrt_rn(correction2);
    s.gradScale = gradScale;
    s.scaledStepSize = s.stepSize * 0x1p40f;
    s.scaledCorrection2 = s.correction2 * 0x1p32f;
    s.scaledInverse = approximateReciprocal(s.correction2) * 0x1p-32f;
    s.gradFactor = __fdiv_rn(c.maximize ? -1.f : 1.f, gradScale);
    s.near = c.eps >= 0x1p-56f && c.eps <= 0x1p44f && s.correction2 >= 0x1p-12f && s.correction2 <= 1.f &&
             fabsf(s.stepSize) <= 0x1p40f && isPowerOfTwo(gradScale);
    return s;
}

/// The moments, the same both ways.
__device__ __forceinline__ float nextAverage(float beta, float average, float value) {
    return __fmaf_rn(beta, average, __fmaf_rn(-beta, value, value));
}

/// One element, whatever its values.
__device__ __forceinline__ void exactly(const AdamWConstants& c, const AdamWScalars& s, float& param, float grad,
                                        float& expAvg, float& expAvgSq) {
    grad = __fdiv_rn(grad, s.gradScale);
    if (c.maximize) grad = -grad;
    if (c.weightDecay != 0) param = __fmaf_rn(-c.decay, param, param);
    expAvg = nextAverage(c.beta1, expAvg, grad);
    expAvgSq = nextAverage(c.beta2, expAvgSq, __fmul_rn(grad, grad));
    const float divisor = __fadd_rn(__fdiv_rn(__fsqrt_rn(expAvgSq), s.correction2), c.eps);
    param = __fsub_rn(param, __fdiv_rn(__fmul_rn(s.stepSize, expAvg), divisor));
}

/// One element. Whether the new values are those of `exactly`, provided that `s.near`.
__device__ __forceinline__ bool nearly(const AdamWConstants& c, const AdamWScalars& s, float& param, float grad,
                                       float& expAvg, float& expAvgSq) {
    grad = __fmul_rn(grad, s.gradFactor);
    const float decayed = __fmaf_rn(-c.decay, param, param);
    expAvg = nextAverage(c.beta1, expAvg, grad);
    expAvgSq = nextAverage(c.beta2, expAvgSq, __fmul_rn(grad, grad));

    const float square = __fmaf_rn(expAvgSq, 0x1p64f, 0x1p-126f); // nothing is added unless expAvgSq is 0
    const float r = approximateRsqrt(square);
    float root = __fmul_rn(square, r);
    root = __fmaf_rn(__fmaf_rn(-root, root, square), __fmul_rn(r, 0.5f), root);

    float divisor = __fmul_rn(root, s.scaledInverse);
    divisor = __fmaf_rn(s.scaledInverse, __fmaf_rn(-s.scaledCorrection2, divisor, root), divisor);
    divisor = __fadd_rn(divisor, c.eps);

    const float dividend = __fmul_rn(s.scaledStepSize, expAvg);
    const float inverse = approximateReciprocal(divisor);
    float update = __fmul_rn(dividend, inverse);
    update = __fmaf_rn(inverse, __fmaf_rn(-divisor, update, dividend), update);

    param = __fmaf_rn(-update, 0x1p-40f, decayed);
    return fmaxf(fabsf(decayed), fabsf(dividend)) >= 0x1p-40f && fabsf(param) <= 0x1p100f;
}

} // namespace fusescope::kernels
