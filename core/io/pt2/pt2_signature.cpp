// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_signature.h"

#include "core/io/pt2/pt2_argument.h"

namespace fusescope::pt2 {

Roles readRoles(Json signature) {
    Roles roles;
    if (const auto specs = arrayMember(signature, "input_specs")) {
        for (const Json spec : *specs) {
            const Union input = unionOf(spec);
            if (!input.value) continue;
            const auto arg = member(*input.value, "arg");
            if (!arg) continue;
            std::string_view name = textMember(*arg, "name");
            if (name.empty())
                if (const auto names = namesIn(*arg); !names.empty()) name = names.front();
            InputRole role;
            if (input.tag == "parameter")
                role = {ValueKind::Parameter, textMember(*input.value, "parameter_name")};
            else if (input.tag == "buffer")
                role = {ValueKind::Buffer, textMember(*input.value, "buffer_name")};
            else if (input.tag == "tensor_constant" || input.tag == "custom_obj" || input.tag == "token")
                role.kind = ValueKind::Constant;
            roles.insert_or_assign(name, role);
        }
    }
    // torch 2.1
    const auto older = [&](std::string_view key, ValueKind kind) {
        const auto map = objectMember(signature, key);
        if (!map) return;
        for (const auto field : *map) {
            std::string_view name;
            if (field.value.get(name) == simdjson::SUCCESS) roles.insert_or_assign(field.key, InputRole{kind, name});
        }
    };
    older("inputs_to_parameters", ValueKind::Parameter);
    older("inputs_to_buffers", ValueKind::Buffer);
    return roles;
}

std::vector<ModuleFrame> splitModuleStack(std::string_view text) {
    constexpr std::size_t kMaxFrames = 64;
    std::vector<ModuleFrame> frames;
    std::size_t begin = 0, last_comma = std::string_view::npos, comma_before = std::string_view::npos;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size() && frames.size() < kMaxFrames; ++i) {
        const char c = i < text.size() ? text[i] : ';';
        if (c == '(' || c == '[')
            ++depth;
        else if ((c == ')' || c == ']') && depth > 0)
            --depth;
        else if (c == ',' && depth == 0) {
            comma_before = last_comma;
            last_comma = i;
        }
        if (i < text.size() && (c != ';' || depth != 0)) continue;
        // key,path,type: the type follows the last comma, the path stands between the last two.
        // PyTorch's mark on operators outside any module is no module.
        if (last_comma != std::string_view::npos && text.substr(begin, 22) != "_empty_nn_module_stack") {
            const std::size_t path = comma_before == std::string_view::npos ? begin : comma_before + 1;
            frames.push_back({clipped(text.substr(path, last_comma - path)),
                              clipped(text.substr(last_comma + 1, i - last_comma - 1))});
        }
        begin = i + 1;
        last_comma = comma_before = std::string_view::npos;
        depth = 0;
    }
    return frames;
}

} // namespace fusescope::pt2
