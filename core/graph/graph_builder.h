// SPDX-License-Identifier: Apache-2.0
// The only writer of an OpGraph. Readers push values and nodes in execution order; finish() makes the module tree's
// execution order, the consumer rows and the folds.
#pragma once

#include "core/base/result.h"
#include "core/graph/op_graph.h"

#include <memory>
#include <string_view>
#include <vector>

namespace fusescope {

struct ModuleFrame {
    std::string_view path, type_fqn;
}; // outermost first

class GraphBuilder {
public:
    GraphBuilder();
    ~GraphBuilder();

    // Modules in the order of their declaration (print(model)'s order), where the file tells it. Optional.
    void declareModule(std::string_view path);
    ValueId input(ValueKind kind, std::string_view name, TensorMeta meta);
    // Parameter or buffer; shared_storage: key equal for parameters in the same storage, "" = own.
    ValueId parameter(bool is_buffer, std::string_view value_name, std::string_view qualified_name, TensorMeta meta,
                      std::string_view shared_storage = {});
    // A parameter that no value of the graph stands for: the second name of a tied one.
    void unusedParameter(std::string_view qualified_name, TensorMeta meta, std::string_view shared_storage = {});
    NodeId node(std::string_view name, std::string_view target, const std::vector<ModuleFrame>& stack,
                std::string_view python_stack);
    void argTensor(std::string_view name, bool keyword, ValueId value);
    void argTensors(std::string_view name, bool keyword, const std::vector<ValueId>& values);
    // values: symbols the text mentions as "%name", also the tensors of a list with holes ("[None, %x]").
    void argText(std::string_view name, bool keyword, ArgKind kind, std::string_view text,
                 const std::vector<ValueId>& values = {});
    // Of the last node; kind: Intermediate, or Symbol (a size).
    ValueId output(std::string_view name, TensorMeta meta, ValueKind kind = ValueKind::Intermediate);
    void graphOutput(ValueId value);
    [[nodiscard]] ValueId find(std::string_view value_name) const; // invalid if unknown

    void problem(std::string_view kind, std::string_view message);
    [[nodiscard]] Result<ModelGraph> finish() &&;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
