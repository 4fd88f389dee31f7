// SPDX-License-Identifier: GPL-3.0-or-later
#include "interpreter.h"

#include "failure.h"

#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>
#include <torch/version.h>

#include <map>
#include <optional>
#include <utility>

namespace fusescope::runner {
namespace {

std::string nameOfStep(const RegionStep& step, std::size_t index) {
    std::string name = "step " + std::to_string(index) + ", " + step.op;
    if (!step.overload.empty()) name += "." + step.overload;
    if (!step.label.empty()) name += " (" + step.label + ")";
    return name;
}

template <class Visit> void eachRef(const Binding& binding, Visit visit) {
    if (const auto* ref = std::get_if<RegionRef>(&binding.values)) return visit(*ref);
    for (const auto& item : std::get<RegionRefs>(binding.values))
        if (const auto* ref = std::get_if<RegionRef>(&item)) visit(*ref);
}

const at::Tensor& valueOf(const RegionRef& ref, const Tensors& inputs, const std::vector<Tensors>& values) {
    return ref.step < 0 ? inputs.at(ref.index) : values.at(static_cast<std::size_t>(ref.step)).at(ref.index);
}

c10::IValue filled(const Binding& binding, const Tensors& inputs, const std::vector<Tensors>& values) {
    if (const auto* ref = std::get_if<RegionRef>(&binding.values)) return valueOf(*ref, inputs, values);
    const auto& refs = std::get<RegionRefs>(binding.values);
    if (binding.holes) {
        c10::List<std::optional<at::Tensor>> list;
        for (const auto& item : refs) {
            const auto* ref = std::get_if<RegionRef>(&item);
            list.push_back(ref != nullptr ? std::optional<at::Tensor>(valueOf(*ref, inputs, values)) : std::nullopt);
        }
        return list;
    }
    c10::List<at::Tensor> list;
    eachRef(binding, [&](const RegionRef& ref) { list.push_back(valueOf(ref, inputs, values)); });
    return list;
}

} // namespace

Result<Interpreter::Step> Interpreter::prepareStep(const RegionStep& step, std::size_t index, const Target& target) {
    const std::string name = nameOfStep(step, index);
    const auto wrong = [&](Error error) {
        error.where = name;
        return error;
    };
    const auto op = c10::Dispatcher::singleton().findSchema({step.op, step.overload});
    if (!op)
        return wrong(
            {ErrorCode::Unsupported, "an operator that is registered with PyTorch " TORCH_VERSION, "none", {}});
    const c10::FunctionSchema& schema = op->schema();
    const std::size_t count = schema.arguments().size();
    std::vector<const RegionArg*> given(count, nullptr);
    for (std::size_t i = 0; i < step.args.size(); ++i) {
        const RegionArg& arg = step.args[i];
        std::size_t place = i;
        if (!arg.name.empty()) {
            const auto named = schema.argumentIndexWithName(arg.name);
            if (!named)
                return wrong({ErrorCode::Unsupported, "arguments of " + toString(schema), "'" + arg.name + "'", {}});
            place = static_cast<std::size_t>(*named);
        }
        if (place >= count)
            return wrong({ErrorCode::Unsupported,
                          "at most " + std::to_string(count) + " arguments",
                          std::to_string(step.args.size()),
                          {}});
        if (given[place] != nullptr)
            return wrong({ErrorCode::Unsupported, "'" + schema.arguments()[place].name() + "' once", "it twice", {}});
        given[place] = &arg;
    }
    Step prepared{*op, {}, {}, {}, step.outputs, name};
    for (std::size_t i = 0; i < count; ++i) {
        const c10::Argument& wanted = schema.arguments()[i];
        if (given[i] == nullptr) {
            Result<c10::IValue> value = absent(wanted, target);
            if (!value) return wrong(value.error());
            prepared.stack.push_back(*std::move(value));
            continue;
        }
        Result<Argument> value = convert(given[i]->value, wanted, target);
        if (!value) return wrong(value.error());
        if (auto* constant = std::get_if<c10::IValue>(&*value)) {
            prepared.stack.push_back(std::move(*constant));
        } else {
            prepared.stack.emplace_back();
            prepared.bindings.emplace_back(i, std::get<Binding>(*std::move(value)));
        }
    }
    return prepared;
}

Result<Interpreter> Interpreter::prepare(const RegionProgram& program, const Target& target) {
    Interpreter interpreter;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        Result<Step> step = prepareStep(program.steps[i], i, target);
        if (!step) return step.error();
        interpreter.mutates_ = interpreter.mutates_ || step->op.schema().is_mutable();
        interpreter.steps_.push_back(*std::move(step));
    }
    interpreter.outputs_ = program.outputs;
    interpreter.findLastUses();
    return interpreter;
}

void Interpreter::findLastUses() {
    std::map<std::pair<std::int32_t, std::uint32_t>, std::size_t> last;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
        for (std::size_t o = 0; o < steps_[s].outputs; ++o) // dropped at once when nobody uses it
            last[{static_cast<std::int32_t>(s), static_cast<std::uint32_t>(o)}] = s;
        for (const auto& [place, binding] : steps_[s].bindings)
            eachRef(binding, [&](const RegionRef& ref) { last[{ref.step, ref.index}] = s; });
    }
    for (const RegionRef& ref : outputs_) last.erase({ref.step, ref.index});
    for (const auto& [value, step] : last)
        if (value.first >= 0) steps_[step].last_uses.push_back({value.first, value.second});
}

void Interpreter::keepOutputs(const Step& step, std::vector<c10::IValue>& returned, Tensors& outputs) {
    if (step.outputs == 0) return;
    for (c10::IValue& value : returned) {
        if (value.isTensor()) {
            outputs.push_back(std::move(value).toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor& tensor : value.toTensorVector()) outputs.push_back(tensor);
        } else {
            outputs.emplace_back(); // a number, or none: it keeps its place
        }
    }
    if (outputs.size() < step.outputs)
        throw Failed("unsupported", step.name + ": expected " + std::to_string(step.outputs) + " results, found " +
                                        std::to_string(outputs.size()));
    outputs.resize(step.outputs); // what nobody may ask for is dropped
}

Tensors Interpreter::run(const Tensors& inputs, const std::function<void()>& check) const {
    Values values(steps_.size());
    std::vector<c10::IValue> stack;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
        const Step& step = steps_[s];
        check();
        stack = step.stack;
        for (const auto& [place, binding] : step.bindings) stack[place] = filled(binding, inputs, values);
        try {
            step.op.callBoxed(stack);
        } catch (const std::exception& e) {
            throw failureOf(e, step.name);
        }
        keepOutputs(step, stack, values[s]);
        stack.clear();
        for (const RegionRef& ref : step.last_uses) values[static_cast<std::size_t>(ref.step)][ref.index].reset();
    }
    Tensors outputs;
    for (const RegionRef& ref : outputs_) {
        outputs.push_back(valueOf(ref, inputs, values));
        if (!outputs.back().defined())
            throw Failed("unsupported",
                         "output " + std::to_string(outputs.size() - 1) + ": expected a tensor, found none");
    }
    return outputs;
}

} // namespace fusescope::runner
