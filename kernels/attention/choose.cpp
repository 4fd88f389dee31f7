// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/choose.h"

namespace fusescope::kernels {
namespace {

/// Before 9.15.1 cuDNN was wrong at lengths that 128 does not divide; PyTorch prefers it from there on, too.
constexpr long reliableCudnn = 91501;

bool isHalf(const AttentionProblem& p) { return p.type == AttentionType::half || p.type == AttentionType::bfloat16; }

const char* whyNotCudnn(const AttentionProblem& p) {
    const bool hopper = p.capability / 10 == 9;
    if (p.cudnn < 90000) return "cuDNN 9.0 or newer is not there";
    if (p.capability < 80) return "cuDNN's attention needs compute capability 8.0";
    if (!isHalf(p)) return "cuDNN's attention takes float16 and bfloat16 alone";
    if (p.headDim > 128) return "cuDNN's attention takes a head_dim up to 128 here";
    if (p.oneKey) return "cuDNN's attention takes no single key";
    if (p.maskGradient) return "cuDNN's attention gives no gradient of the mask";
    if (p.deterministic && p.gradient) return "the gradients of cuDNN's attention are not deterministic";
    // The kernel decides in steps of 64 keys, and works in steps of 128, which keys are past the end: a row with a
    // log-sum-exp below -88.7 gets NaN from those, unless causal hides them. Seen with masks; nothing in the cause
    // needs one. No shape tells how negative the rows are, so the shape is avoided.
    if (hopper && p.gradient && p.keyTail64 && !(p.causal && !p.moreQueries))
        return "cuDNN's backward on Hopper can give NaN with 64 modulo 128 keys (pytorch#196678)";
    if (hopper && p.gradient && p.oneQuery)
        return "cuDNN's backward on Hopper can give NaN with a single query (cudnn-frontend#1072)";
    return nullptr;
}

const char* whyNotFlash(const AttentionProblem& p) {
    const bool smallSharedMemory = (p.capability > 80 && p.capability < 90) || p.capability >= 120;
    if (p.capability < 80) return "flash attention needs compute capability 8.0";
    if (!isHalf(p)) return "flash attention takes float16 and bfloat16 alone";
    if (p.mask) return "flash attention takes no mask";
    if (p.headDim > 256) return "flash attention takes a head_dim up to 256";
    if (p.gradient && p.headDim > 192 && smallSharedMemory)
        return "flash attention gives gradients up to a head_dim of 192 on this GPU";
    if (p.causal && p.moreQueries) return "flash attention counts causal from the end, here it is from the start";
    return nullptr;
}

const char* whyNotEfficient(const AttentionProblem& p) {
    if (p.capability < 50) return "memory-efficient attention needs compute capability 5.0";
    if (p.type == AttentionType::other) return "memory-efficient attention takes no float64";
    if (p.type == AttentionType::bfloat16 && p.capability < 80)
        return "memory-efficient attention takes bfloat16 from compute capability 8.0 on";
    return nullptr;
}

const char* whyNotHopper(const AttentionProblem& p) {
    if (p.capability != 90) return "the Hopper kernel needs compute capability 9.0";
    if (!isHalf(p)) return "the Hopper kernel takes float16 and bfloat16 alone";
    if (p.mask) return "the Hopper kernel takes no mask";
    if (p.headDim <= 120 || p.headDim > 128) return "the Hopper kernel takes a head_dim of 128, or 121 to 127 padded";
    if (!p.positiveScale) return "the Hopper kernel takes a positive, finite scale";
    if (p.transform) return "the Hopper kernel is not for torch.func's transforms";
    if (p.gradient && p.deterministic && whyNotFlash(p))
        return "deterministic gradients are flash attention's, which cannot be used";
    return nullptr;
}

} // namespace

std::string_view nameOf(AttentionBackend backend) {
    switch (backend) {
    case AttentionBackend::cudnn: return "cudnn";
    case AttentionBackend::flash: return "flash";
    case AttentionBackend::efficient: return "efficient";
    case AttentionBackend::hopper: return "hopper";
    case AttentionBackend::math: break;
    }
    return "math";
}

const char* whyNot(AttentionBackend backend, const AttentionProblem& problem) {
    switch (backend) {
    case AttentionBackend::cudnn: return whyNotCudnn(problem);
    case AttentionBackend::flash: return whyNotFlash(problem);
    case AttentionBackend::efficient: return whyNotEfficient(problem);
    case AttentionBackend::hopper: return whyNotHopper(problem);
    case AttentionBackend::math: break;
    }
    return nullptr;
}

std::string_view nameOf(HopperBackward backward) {
    switch (backward) {
    case HopperBackward::own: return "own";
    case HopperBackward::cudnn: return "cudnn";
    case HopperBackward::flash: break;
    }
    return "flash";
}

bool mayTakeOwnBackward(const AttentionProblem& p) { return p.gradient && !p.deterministic && !whyNotHopper(p); }

HopperBackward chooseHopperBackward(const AttentionProblem& p) {
    if (p.deterministic) return HopperBackward::flash;
    // cuDNN shares out finer pieces.
    if (!p.ownBackwardFills && p.cudnn >= reliableCudnn && !whyNotCudnn(p)) return HopperBackward::cudnn;
    return HopperBackward::own;
}

AttentionChoice chooseAttention(const AttentionProblem& p) {
    using enum AttentionBackend;
    if (p.empty) return {math, "nothing is to be computed"};
    if (p.type == AttentionType::other) return {math, "float64 has no fused kernel"};
    if (p.type == AttentionType::single) {
        const char* refused = whyNotEfficient(p);
        return refused ? AttentionChoice{math, refused}
                       : AttentionChoice{efficient, "float32 has no other fused kernel"};
    }

    const char* refused = whyNotFlash(p);
    // A block of ours has 128 queries, so a single one leaves most of the GPU idle: the others split the keys. Over
    // 4096 keys on an H200, cuDNN 15 us, flash 22, ours 53.
    if (!p.oneQuery && !whyNotHopper(p))
        return {hopper, "on an H200 2 to 48% faster than cuDNN's forward and twice as fast as flash's"};

    const bool cudnnIsFastest = p.capability / 10 == 9 || p.capability / 10 == 10;
    if (cudnnIsFastest) {
        const char* cudnnRefused = p.cudnn < reliableCudnn ? "cuDNN 9.15.1 or newer is not there" : whyNotCudnn(p);
        if (!cudnnRefused) return {cudnn, "the fastest on Hopper and datacenter Blackwell"};
        if (!refused) return {flash, cudnnRefused};
        refused = cudnnRefused;
    } else if (!refused) {
        return {flash, "the fastest on this GPU"};
    }
    const char* efficientRefused = whyNotEfficient(p);
    return efficientRefused ? AttentionChoice{math, efficientRefused} : AttentionChoice{efficient, refused};
}

} // namespace fusescope::kernels
