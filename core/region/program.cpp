// SPDX-License-Identifier: Apache-2.0
#include "core/region/program.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fusescope {
namespace {

constexpr double kMostElements = 1e15; // far above any memory, far below where sums of products go wrong

bool isName(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

bool isAmount(double number) { return std::isfinite(number) && number >= 0; }

// Operators that read or write files: no region of a model has them, but a file from anywhere may say so.
bool touchesFiles(std::string_view name) { return name == "from_file" || name == "save" || name == "load"; }

class Checker {
public:
    explicit Checker(const Region& region) : region_(region) {}

    Status check() {
        if (region_.inputs.size() > kMaxRegionInputs)
            return wrong("at most 5000 inputs", std::to_string(region_.inputs.size()), "inputs", ErrorCode::Limit);
        for (const std::string* text : {&region_.id, &region_.pattern, &region_.numerics})
            if (text->size() > kMaxRegionName) return tooLong("the names of the region", kMaxRegionName);
        for (const std::string* text : {&region_.title, &region_.reason})
            if (text->size() > kMaxRegionText) return tooLong("title and reason", kMaxRegionText);
        for (const double number :
             {region_.fused_bytes, region_.fused_backward_bytes, region_.fused_flops, region_.fused_backward_flops})
            if (!isAmount(number))
                return wrong("bytes and FLOPs that are finite and not negative", "another number", "");
        for (std::size_t i = 0; i < region_.inputs.size(); ++i)
            if (Status status = checkInput(region_.inputs[i], "inputs[" + std::to_string(i) + "]"); !status)
                return status;
        if (region_.baseline.steps.empty()) return wrong("a baseline of at least one step", "none", "baseline");
        if (Status status = checkProgram(region_.baseline, "baseline"); !status) return status;
        if (region_.fused.steps.empty()) {
            if (!region_.fused.outputs.empty()) return wrong("steps that make the outputs", "none", "fused");
            return done();
        }
        if (Status status = checkProgram(region_.fused, "fused"); !status) return status;
        if (region_.fused.outputs.size() != region_.baseline.outputs.size())
            return wrong("as many outputs as the baseline's " + std::to_string(region_.baseline.outputs.size()),
                         std::to_string(region_.fused.outputs.size()), "fused.outputs");
        return done();
    }

private:
    static Error wrong(std::string expected, std::string found, const std::string& where,
                       ErrorCode code = ErrorCode::Damaged) {
        return {code, std::move(expected), std::move(found), where.empty() ? "region" : "region." + where};
    }
    static Error tooLong(const std::string& what, std::size_t most) {
        return wrong(what + " of at most " + std::to_string(most) + " bytes", "longer text", "", ErrorCode::Limit);
    }

    static Status checkInput(const RegionInput& input, const std::string& where) {
        if (input.name.size() > kMaxRegionName)
            return wrong("a name of at most 512 bytes", "a longer one", where, ErrorCode::Limit);
        const TensorMeta& meta = input.meta;
        if (sizeOf(meta.dtype) == 0) return wrong("a type of elements", "none", where);
        if (meta.sizes.size() > kMaxRegionDims)
            return wrong("at most 32 dimensions", std::to_string(meta.sizes.size()), where, ErrorCode::Limit);
        if (!meta.strides.empty() && meta.strides.size() != meta.sizes.size())
            return wrong("a stride for each of " + std::to_string(meta.sizes.size()) + " dimensions",
                         std::to_string(meta.strides.size()), where);
        double elements = 1, last = 0;
        for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
            if (meta.sizes[d] < 0)
                return wrong("sizes that are known and not negative", std::to_string(meta.sizes[d]), where);
            elements *= static_cast<double>(std::max<std::int64_t>(1, meta.sizes[d]));
            if (meta.strides.empty()) continue;
            if (meta.strides[d] < 0)
                return wrong("strides that are not negative", std::to_string(meta.strides[d]), where);
            last += static_cast<double>(std::max<std::int64_t>(1, meta.sizes[d]) - 1) *
                    static_cast<double>(meta.strides[d]);
        }
        if (elements > kMostElements || last > kMostElements)
            return wrong("a tensor that fits into memory", "a larger one", where, ErrorCode::Limit);
        if (!std::isfinite(input.scale)) return wrong("a finite scale", "another number", where);
        if (input.bound < 0 || (input.fill == Fill::Index && input.bound < 1))
            return wrong("a positive bound of the indices", std::to_string(input.bound), where);
        return done();
    }

    [[nodiscard]] std::string refProblem(const RegionRef& ref, const RegionProgram& program, std::size_t before) const {
        if (ref.step == -1)
            return ref.index < region_.inputs.size()
                       ? ""
                       : "input " + std::to_string(ref.index) + " of " + std::to_string(region_.inputs.size());
        if (ref.step < 0 || static_cast<std::size_t>(ref.step) >= before)
            return "step " + std::to_string(ref.step) + ", which comes later or never";
        const std::uint32_t outputs = program.steps[static_cast<std::size_t>(ref.step)].outputs;
        if (ref.index >= outputs)
            return "output " + std::to_string(ref.index) + " of step " + std::to_string(ref.step) + ", which has " +
                   std::to_string(outputs);
        return {};
    }

    Status checkValue(const RegionArgValue& value, const RegionProgram& program, std::size_t step,
                      const std::string& where) const {
        std::string problem;
        std::size_t length = 0;
        if (const auto* ref = std::get_if<RegionRef>(&value)) problem = refProblem(*ref, program, step);
        if (const auto* refs = std::get_if<RegionRefs>(&value)) {
            length = refs->size();
            for (const auto& item : *refs)
                if (const auto* one = std::get_if<RegionRef>(&item); one != nullptr && problem.empty())
                    problem = refProblem(*one, program, step);
        }
        if (const auto* text = std::get_if<std::string>(&value); text != nullptr && text->size() > kMaxRegionText)
            return wrong("text of at most 16384 bytes", "longer text", where, ErrorCode::Limit);
        if (const auto* dtype = std::get_if<RegionDType>(&value); dtype != nullptr && sizeOf(dtype->type) == 0)
            return wrong("a type of elements", "none", where);
        if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) length = list->size();
        if (const auto* list = std::get_if<std::vector<double>>(&value)) length = list->size();
        if (const auto* list = std::get_if<std::vector<bool>>(&value)) length = list->size();
        if (length > kMaxRegionList)
            return wrong("a list of at most 4096 entries", std::to_string(length), where, ErrorCode::Limit);
        if (!problem.empty()) return wrong("a value that exists before this step", problem, where);
        return done();
    }

    Status checkProgram(const RegionProgram& program, const std::string& where) const {
        if (program.steps.size() > kMaxRegionSteps)
            return wrong("at most 20000 steps", std::to_string(program.steps.size()), where, ErrorCode::Limit);
        for (std::size_t s = 0; s < program.steps.size(); ++s) {
            const RegionStep& step = program.steps[s];
            const std::string at = where + ".steps[" + std::to_string(s) + "]";
            const std::size_t colons = step.op.find("::");
            const std::string_view op = step.op;
            const bool known = op.substr(0, 6) == "aten::" || op.substr(0, 11) == "fusescope::";
            if (!known || !isName(op.substr(colons + 2)) || (!step.overload.empty() && !isName(step.overload)) ||
                step.op.size() + step.overload.size() > kMaxRegionName)
                return wrong("an operator as aten::mul or fusescope::rms_norm", "'" + step.op.substr(0, 60) + "'", at);
            if (touchesFiles(op.substr(colons + 2))) return wrong("an operator that computes", step.op, at);
            if (step.label.size() > kMaxRegionName)
                return wrong("a label of at most 512 bytes", "a longer one", at, ErrorCode::Limit);
            if (step.args.size() > kMaxRegionArgs)
                return wrong("at most 64 arguments", std::to_string(step.args.size()), at, ErrorCode::Limit);
            if (step.outputs > kMaxRegionList)
                return wrong("at most 4096 outputs", std::to_string(step.outputs), at, ErrorCode::Limit);
            for (std::size_t a = 0; a < step.args.size(); ++a) {
                const RegionArg& arg = step.args[a];
                if (!arg.name.empty() && (!isName(arg.name) || arg.name.size() > kMaxRegionName))
                    return wrong("an argument's name", "'" + arg.name.substr(0, 60) + "'", at);
                if (arg.name.empty() && arg.keyword) return wrong("a keyword argument's name", "none", at);
                if (Status status = checkValue(arg.value, program, s, at + ".args[" + std::to_string(a) + "]"); !status)
                    return status;
            }
        }
        if (program.outputs.empty()) return wrong("at least one output", "none", where);
        if (program.outputs.size() > kMaxRegionSteps)
            return wrong("at most 20000 outputs", std::to_string(program.outputs.size()), where, ErrorCode::Limit);
        for (std::size_t o = 0; o < program.outputs.size(); ++o)
            if (const std::string problem = refProblem(program.outputs[o], program, program.steps.size());
                !problem.empty())
                return wrong("a value of the program", problem, where + ".outputs[" + std::to_string(o) + "]");
        return done();
    }

    const Region& region_;
};

} // namespace

std::string_view nameOf(Fill fill) noexcept {
    constexpr std::array<std::string_view, 7> names{"normal",   "uniform", "index",   "position",
                                                    "constant", "causal",  "near_one"};
    const auto i = static_cast<std::size_t>(fill);
    return i < names.size() ? names[i] : "normal";
}

Status checkRegion(const Region& region) { return Checker(region).check(); }

double inputBytes(const Region& region) noexcept {
    double bytes = 0;
    for (const RegionInput& input : region.inputs) bytes += input.meta.bytes();
    return bytes;
}

} // namespace fusescope
