// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_argument.h"

namespace fusescope::pt2 {
namespace {

constexpr std::size_t kMaxText = 4096; // of one argument; longer lists are cut
constexpr int kMaxNesting = 6;         // of dictionaries of arguments

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

std::string_view nameOf(Json json) {
    std::string_view name;
    if (json.get(name) == simdjson::SUCCESS) return name; // newer schemas write some as a bare name
    return textMember(json, "name");
}

double real64(Json json, std::string_view key) {
    const auto found = member(json, key);
    double number = 0;
    return found && found->get(number) == simdjson::SUCCESS ? number : 0;
}

class Reader {
public:
    Reader(const Scope& scope, Argument& out) : scope_(scope), out_(out) {}

    void read(Json json, int depth) {
        const Union argument = unionOf(json);
        const std::string_view tag = argument.tag;
        if (tag.empty() || depth > kMaxNesting) return other(json);
        if (tag == "as_none" || !argument.value) return put("None");
        const Json value = *argument.value;
        if (tag == "as_tensor" || tag == "as_custom_obj") return reference(nameOf(value));
        if (tag == "as_tensors") return list(value, [&](Json item) { reference(nameOf(item)); });
        if (tag == "as_optional_tensor" || tag == "as_optional_tensors" || tag == "as_nested_tensors") {
            const auto one = [&](Json item) {
                if (item.is_object() && nameOf(item).empty()) return read(item, depth + 1);
                if (item.is_array()) return list(item, [&](Json inner) { reference(nameOf(inner)); });
                reference(nameOf(item));
            };
            return value.is_array() ? list(value, one) : one(value);
        }
        if (startsWith(tag, "as_sym_")) {
            const auto one = [&](Json item) { symbol(item); };
            return value.is_array() ? list(value, one) : one(value);
        }
        if (tag == "as_scalar_type") return number(value, torchDType);
        if (tag == "as_layout") return number(value, torchLayout);
        if (tag == "as_memory_format") return number(value, torchMemoryFormat);
        if (tag == "as_device") return put(deviceText(value));
        if (tag == "as_complex") {
            const double real = real64(value, "real"), imaginary = real64(value, "imag");
            return put("(" + pythonFloat(real) + (imaginary < 0 ? "" : "+") + pythonFloat(imaginary) + "j)");
        }
        if (tag == "as_string_to_argument") return dictionary(value, depth);
        if (tag == "as_float" || tag == "as_floats") {
            const auto one = [&](Json item) { floating(item); };
            return value.is_array() ? list(value, one) : one(value);
        }
        if (startsWith(tag, "as_") &&
            !value.is_object()) { // as_int, as_ints, as_int_lists, as_bool, as_string, as_operator ...
            const auto one = [&](Json item) {
                if (item.is_array()) return list(item, [&](Json inner) { plain(inner); });
                plain(item);
            };
            return value.is_array() ? list(value, one) : one(value);
        }
        other(json);
    }

private:
    void put(std::string_view text) {
        if (out_.text.size() < kMaxText) out_.text += text;
        if (out_.text.size() > kMaxText) {
            out_.text.resize(kMaxText);
            out_.text += "...";
        }
    }

    void reference(std::string_view name) {
        if (name.empty()) return put("None");
        put("%");
        put(name);
        const auto found = scope_.find(name);
        if (found == scope_.end() || !found->second.valid())
            ++out_.unknown_names;
        else
            out_.values.push_back(found->second);
    }

    template <class One> void list(Json value, One one) {
        JsonArray array;
        if (value.get(array) != simdjson::SUCCESS) return other(value);
        put("[");
        bool first = true;
        for (const Json item : array) {
            if (!first) put(", ");
            first = false;
            one(item);
        }
        put("]");
    }

    void symbol(Json item) {
        const Union value = unionOf(item);
        if (value.value && value.tag == "as_name") return reference(nameOf(*value.value));
        if (value.value) return floating(*value.value);
        plain(item);
    }

    template <class Text> void number(Json value, Text text) {
        if (const auto n = integer(value)) return put(text(*n));
        other(value);
    }

    void floating(Json value) {
        double number = 0;
        std::string_view text;
        // get() would turn a whole number into a double, too
        if (value.type() == simdjson::dom::element_type::DOUBLE && value.get(number) == simdjson::SUCCESS)
            return put(pythonFloat(number));
        if (value.get(text) == simdjson::SUCCESS) { // JSON has no infinity
            if (text == "Infinity") return put("inf");
            if (text == "-Infinity") return put("-inf");
            if (text == "NaN") return put("nan");
        }
        plain(value);
    }

    void plain(Json value) {
        bool flag = false;
        double real = 0;
        std::uint64_t large = 0;
        std::string_view text;
        if (value.get(flag) == simdjson::SUCCESS) return put(flag ? "True" : "False");
        if (const auto n = integer(value)) return put(std::to_string(*n));
        if (value.get(large) == simdjson::SUCCESS) return put(std::to_string(large));
        if (value.get(real) == simdjson::SUCCESS) return put(pythonFloat(real));
        if (value.get(text) == simdjson::SUCCESS) return put(text);
        if (value.is_null()) return put("None");
        other(value);
    }

    void dictionary(Json value, int depth) {
        JsonObject object;
        if (value.get(object) != simdjson::SUCCESS) return other(value);
        put("{");
        bool first = true;
        for (const auto field : object) {
            if (!first) put(", ");
            first = false;
            put(field.key);
            put(": ");
            read(field.value, depth + 1);
        }
        put("}");
    }

    // A kind of argument newer than this reader: its tag stands for it.
    void other(Json json) {
        const Union value = unionOf(json);
        put(value.tag.empty() ? std::string_view("?") : value.tag);
    }

    const Scope& scope_;
    Argument& out_;
};

ArgKind kindOf(std::string_view tag, bool has_value) {
    if (tag == "as_none" || !has_value) return ArgKind::None;
    if (tag == "as_tensor" || tag == "as_custom_obj") return ArgKind::Tensor;
    if (tag == "as_tensors" || tag == "as_optional_tensors" || tag == "as_nested_tensors") return ArgKind::TensorList;
    if (tag == "as_int" || tag == "as_float" || tag == "as_bool" || tag == "as_sym_int" || tag == "as_sym_float" ||
        tag == "as_sym_bool" || tag == "as_complex")
        return ArgKind::Scalar;
    if (tag == "as_ints" || tag == "as_floats" || tag == "as_bools" || tag == "as_sym_ints" || tag == "as_sym_floats" ||
        tag == "as_sym_bools" || tag == "as_int_lists")
        return ArgKind::ScalarList;
    return ArgKind::Text;
}

} // namespace

Argument argumentOf(Json json, const Scope& scope) {
    Argument out;
    const Union argument = unionOf(json);
    out.kind = kindOf(argument.tag, argument.value.has_value());
    Reader(scope, out).read(json, 0);
    if (argument.tag == "as_optional_tensor") out.kind = out.values.empty() ? ArgKind::None : ArgKind::Tensor;
    // Tensors inside a dictionary are operands too.
    if (argument.tag == "as_string_to_argument" && !out.values.empty()) out.kind = ArgKind::TensorList;
    if (out.kind == ArgKind::Tensor && out.values.size() != 1) out.kind = ArgKind::Text;
    return out;
}

std::vector<std::string_view> namesIn(Json argument) {
    std::vector<std::string_view> names;
    const Union value = unionOf(argument);
    if (!value.value) return names;
    const auto add = [&](Json item) {
        std::string_view name = nameOf(item);
        if (name.empty()) name = textMember(item, "as_name");
        if (name.empty()) {
            const Union inner = unionOf(item); // {"as_tensor": {"name": ...}} within a list of optional tensors
            if (inner.value && startsWith(inner.tag, "as_")) name = nameOf(*inner.value);
        }
        if (!name.empty()) names.push_back(name);
    };
    // A string or an integer is a constant, not a name.
    if (value.tag == "as_string" || value.tag == "as_strings") return names;
    JsonArray array;
    if (value.value->get(array) == simdjson::SUCCESS) {
        for (const Json item : array) add(item);
    } else {
        add(*value.value);
    }
    return names;
}

} // namespace fusescope::pt2
